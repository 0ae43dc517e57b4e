"""Completions of prompts, and how probable each of their tokens was when it was sampled."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from steadyrl.environments.language.sampling import Sampling


@dataclass(frozen=True)
class Completions:
    """What was sampled for each prompt; samples of one prompt stand together.

    `tokens` and `attention` are (sequences, prompt + completion): prompts padded on the left,
    completions on the right. `mask` and what was thought at each token are (sequences, completion);
    the mask includes the token that ends a completion.
    """

    tokens: Tensor
    attention: Tensor
    mask: Tensor
    log_probs: Tensor  # under the distribution that was sampled from (temperature, top_p)
    plain_log_probs: Tensor  # under the model's own
    entropies: Tensor  # of the model's own distribution
    values: Tensor | None  # expected score, if there is a value head
    prompt_lengths: Tensor
    finished: Tensor  # ended by itself rather than cut off
    text: tuple[str, ...]
    sampling: Sampling
    samples_per_prompt: int

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def lengths(self) -> Tensor:
        """Tokens of each completion."""
        return self.mask.sum(dim=1)

    def widened(self, prompt: int, completion: int, pad: int) -> Completions:
        """With padding to these widths, left of prompts and right of completions."""
        left = prompt - (self.tokens.shape[1] - self.mask.shape[1])
        right = completion - self.mask.shape[1]

        def after(values: Tensor) -> Tensor:
            return torch.nn.functional.pad(values, (0, right))

        return replace(
            self,
            tokens=torch.nn.functional.pad(self.tokens, (left, right), value=pad),
            attention=torch.nn.functional.pad(self.attention, (left, right)),
            mask=after(self.mask),
            log_probs=after(self.log_probs),
            plain_log_probs=after(self.plain_log_probs),
            entropies=after(self.entropies),
            values=None if self.values is None else after(self.values),
        )

    def rows(self, chosen: Tensor) -> Completions:
        """Some of the sequences in this order; prompts and their samples must stay whole."""
        return replace(
            self,
            tokens=self.tokens[chosen],
            attention=self.attention[chosen],
            mask=self.mask[chosen],
            log_probs=self.log_probs[chosen],
            plain_log_probs=self.plain_log_probs[chosen],
            entropies=self.entropies[chosen],
            values=None if self.values is None else self.values[chosen],
            prompt_lengths=self.prompt_lengths[chosen],
            finished=self.finished[chosen],
            text=tuple(self.text[row] for row in chosen.tolist()),
        )

    def part(self, start: int, stop: int) -> Completions:
        """Some of the sequences, without columns that are padding in all of them.

        Parts that begin and end between two prompts keep samples of one prompt together.
        """
        rows = slice(start, stop)
        longest = max(int(self.mask[rows].sum(dim=1).max()), 1)
        prompt = self.tokens.shape[1] - self.mask.shape[1]
        # Not before the first column, though a faulty mask may reach into the prompts.
        columns = slice(max(prompt - int(self.prompt_lengths[rows].max()), 0), prompt + longest)
        whole = start % self.samples_per_prompt == 0 and stop % self.samples_per_prompt == 0
        return Completions(
            tokens=self.tokens[rows, columns],
            attention=self.attention[rows, columns],
            mask=self.mask[rows, :longest],
            log_probs=self.log_probs[rows, :longest],
            plain_log_probs=self.plain_log_probs[rows, :longest],
            entropies=self.entropies[rows, :longest],
            values=None if self.values is None else self.values[rows, :longest],
            prompt_lengths=self.prompt_lengths[rows],
            finished=self.finished[rows],
            text=self.text[rows],
            sampling=self.sampling,
            samples_per_prompt=self.samples_per_prompt if whole else 1,
        )
