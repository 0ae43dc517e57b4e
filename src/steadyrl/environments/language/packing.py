"""Completions of shared prompts as one sequence: a tree in which every token is read once.

Its root is what all prompts begin with, its branches are the rest of each prompt, its twigs the
completions, which fork where the samples of a prompt first differ. A token attends to those on the
way from the root to itself, so what a model says of it is what it would say of its sequence alone,
without reading anything twice, without padding, and with every weight used once.
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
    branches = torch.arange(prompt, device=tokens.device) >= starts[:, None] + shared
    twigs = attention[:, prompt:-1]  # nothing is asked about the last token's successor
    above = shared + int(branches.sum())
    most = tokens.shape[0] * tokens.shape[1] ** 2
    if (above + int(twigs.view(len(heads), samples, length - 1).any(dim=1).sum())) ** 2 > most:
        return None  # though all samples of a prompt were equal
    of_row = torch.arange(len(tokens), device=tokens.device) // samples
    twig = _distinct_twigs(tokens[:, prompt:-1], twigs, of_row)
    if (above + len(twig.rows)) ** 2 > most:
        return None
    root = heads[0, int(starts[0]) : int(starts[0]) + shared]
    prompts, columns = branches.nonzero(as_tuple=True)
    positions = torch.cat(
        (
            torch.arange(shared, device=tokens.device),
            columns - starts[prompts],
            (prompt - starts)[of_row[twig.rows]] + twig.times,
        )
    )
    branch = torch.cat((torch.full_like(root, -1), prompts, of_row[twig.rows]))
    sees = positions[None] <= positions[:, None]
    sees &= (branch[None] < 0) | (branch[None] == branch[:, None])
    sees[:above, above:] = False
    sees[above:, above:] = twig.ancestors()
    ends = shared - 1 + branches.sum(dim=1).cumsum(dim=0)
    return Packed(
        torch.cat((root, heads[branches], tokens[twig.rows, prompt + twig.times])),
        positions,
        sees,
        torch.cat((ends[of_row][:, None], above + twig.at.clamp(min=0)), dim=1),
    )


@dataclass(frozen=True, slots=True)
class _Twigs:
    """Different beginnings of completions of the same prompt, by their last token."""

    at: Tensor  # (sequences, time): which of them a sequence has reached; -1 after its end
    rows: Tensor  # (twigs,) a sequence that has it
    times: Tensor  # (twigs,) when it ends there

    def ancestors(self) -> Tensor:
        """(twigs, twigs): true where the column's is the row's, or a beginning of it."""
        way = self.at[self.rows]
        taken = torch.arange(way.shape[1], device=way.device) <= self.times[:, None]
        own = torch.arange(len(way), device=way.device)[:, None].expand_as(way)
        found = torch.zeros(len(way), len(way), dtype=torch.bool, device=way.device)
        found[own[taken], way[taken]] = True
        return found


def _distinct_twigs(said: Tensor, spoken: Tensor, prompts: Tensor) -> _Twigs:
    """A token at a time: sequences stay together while they say the same."""
    at = torch.full_like(said, -1)
    way, rows, times, count = prompts.clone(), [], [], 0
    tokens = int(said.max()) + 1 if said.numel() else 1
    for time in range(said.shape[1]):
        speaking = spoken[:, time].nonzero().squeeze(1)
        keys = way[speaking] * tokens + said[speaking, time]
        distinct, which = torch.unique(keys, return_inverse=True)
        at[speaking, time] = way[speaking] = count + which
        rows.append(torch.empty_like(distinct).scatter_(0, which, speaking))
        times.append(torch.full_like(distinct, time))
        count += len(distinct)
    none = at.new_empty(0)
    return _Twigs(at, torch.cat((none, *rows)), torch.cat((none, *times)))
