"""Completions of shared prompts as one sequence: a tree in which every token is read once.

Its root is what all prompts begin with, its branches are the rest of each prompt, its twigs the
completions. A token attends to those on the way from the root to itself, so what a model says of it
is what it would say of its sequence alone, without reading any prompt twice, without padding, and
with every weight used once.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Packed:
    """All tokens in a row, what each may look at, and where to find what was asked."""

    tokens: Tensor  # (tokens,)
    positions: Tensor  # (tokens,) within the sequence it belongs to
    sees: Tensor  # (tokens, tokens) true where the row's token looks at the column's
    places: Tensor  # (sequences, completion): the token before each one of the completion


def pack(
    tokens: Tensor, attention: Tensor, length: int, samples: int, shared: int
) -> Packed | None:
    """Sequences padded on both sides, `samples` of each prompt together.

    The last `length` columns are completions; prompts begin with `shared` equal tokens. None if
    there are more pairs of tokens in the tree than in the sequences: what is saved is then lost.
    """
    prompt = tokens.shape[1] - length
    heads, heads_read = tokens[::samples, :prompt], attention[::samples, :prompt]
    starts = prompt - heads_read.sum(dim=1)
    columns = torch.arange(prompt, device=tokens.device)
    branches = columns >= starts[:, None] + shared
    twigs = attention[:, prompt:-1]  # nothing is asked about the last token's successor
    count = shared + int(branches.sum()) + int(twigs.sum())
    if count**2 > tokens.shape[0] * tokens.shape[1] ** 2:
        return None
    root = heads[0, int(starts[0]) : int(starts[0]) + shared]
    lengths = (prompt - starts).repeat_interleave(samples)
    prompts, places = branches.nonzero(as_tuple=True)
    rows, times = twigs.nonzero(as_tuple=True)
    none = torch.full_like(root, -1)
    branch = torch.cat((none, prompts, rows // samples))
    twig = torch.cat((none, torch.full_like(prompts, -1), rows))
    positions = torch.cat(
        (
            torch.arange(shared, device=tokens.device),
            places - starts[prompts],
            lengths[rows] + times,
        )
    )
    sees = positions[None] <= positions[:, None]
    sees &= (branch[None] < 0) | (branch[None] == branch[:, None])
    sees &= (twig[None] < 0) | (twig[None] == twig[:, None])
    return Packed(
        torch.cat((root, heads[branches], tokens[:, prompt:-1][twigs])),
        positions,
        sees,
        _places(branches, twigs, samples, shared),
    )


def _places(branches: Tensor, twigs: Tensor, samples: int, shared: int) -> Tensor:
    """Where the token before each one of a completion stands; anywhere where there is none."""
    ends = shared - 1 + branches.sum(dim=1).cumsum(dim=0)
    first = ends.repeat_interleave(samples)[:, None]
    after = shared + branches.sum() + twigs.flatten().cumsum(dim=0) - 1
    return torch.cat((first, after.view(twigs.shape).clamp(min=0)), dim=1)
