"""Completions, sampled in batches with a cache, and how probable each of their tokens was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from steadyrl.core.errors import ConfigError
from steadyrl.environments.language.completions import Completions
from steadyrl.environments.language.policy import LanguagePolicy
from steadyrl.environments.language.prompts import encode_prompts
from steadyrl.environments.language.sampling import Sampling, choose
from steadyrl.nets.processes import ALONE, Processes


def end_tokens(tokenizer: Any, stop: str | None = None) -> tuple[int, ...]:
    """Tokens that end a completion: the end of text, and every token that holds the stop text.

    All are looked at, because a token may hold more than the stop text (two ends of line, say).
    """
    ends = [] if tokenizer.eos_token_id is None else [int(tokenizer.eos_token_id)]
    if stop:
        texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
        ends += [token for token, text in enumerate(texts) if stop in text]
    if not ends:
        raise ConfigError(
            "no token ends a completion: the tokenizer has no end-of-text token, and the task no "
            "stop text that one of its tokens holds."
        )
    return tuple(dict.fromkeys(ends))


@torch.no_grad()
def generate(
    policy: LanguagePolicy,
    tokenizer: Any,
    prompts: Sequence[str],
    sampling: Sampling,
    *,
    generator: torch.Generator | None = None,
    ends: Sequence[int] | None = None,
    stop: str | None = None,
    samples_per_prompt: int = 1,
    rows: int = 256,
    processes: Processes = ALONE,
) -> Completions:
    """Sample completions, at most `rows` sequences at a time (or the samples of one prompt).

    Prompts of similar length are read together, each of them once for all its samples. Every
    sequence has its own random numbers, so neither its neighbours nor `rows` change what it says.
    `generator` (of the CPU) is needed unless decoding is greedy. Several processes sample a share
    each, of short and long prompts alike, and all of them get all of it. `ends` are the tokens that
    end a completion (by default those of `stop`); texts are cut where `stop` begins.
    """
    ends = end_tokens(tokenizer, stop) if ends is None else ends
    encoded = encode_prompts(policy, tokenizer, prompts, sampling.max_new_tokens)
    count = len(prompts) * samples_per_prompt
    shape = (count, 0 if sampling.greedy else sampling.max_new_tokens)
    if generator is None and not sampling.greedy:
        raise ValueError("sampling needs a generator of random numbers")
    draws = torch.rand(shape, generator=generator).view(len(prompts), samples_per_prompt, -1)
    order = sorted(range(len(prompts)), key=lambda index: len(encoded[index]))
    at_once = max(rows // samples_per_prompt, 1)
    batch = _Batch.empty(encoded, sampling.max_new_tokens, samples_per_prompt, tokenizer, policy)
    mine = order[processes.rank :: processes.count]
    with processes.together(), _reading(policy):
        for start in range(0, len(mine), at_once):
            chosen = mine[start : start + at_once]
            _sample(policy, batch, chosen, draws[chosen].flatten(0, 1), sampling, ends)
    return batch.completed(mine, processes).completions(tokenizer, sampling, ends, stop)


@dataclass(frozen=True)
class _Batch:
    """All sequences while they are being written; rows in the order of the prompts."""

    tokens: Tensor
    attention: Tensor
    mask: Tensor
    log_probs: Tensor
    plain_log_probs: Tensor
    entropies: Tensor
    values: Tensor | None
    prompt_lengths: Tensor
    samples: int

    @classmethod
    def empty(
        cls, encoded: list[list[int]], room: int, samples: int, tokenizer: Any, policy: Any
    ) -> _Batch:
        longest = max(len(tokens) for tokens in encoded)
        padded = torch.full((len(encoded), longest + room), int(tokenizer.pad_token_id))
        attention = torch.zeros(padded.shape, dtype=torch.bool)
        for row, tokens in enumerate(encoded):
            padded[row, longest - len(tokens) : longest] = torch.tensor(tokens)
            attention[row, longest - len(tokens) : longest] = True
        padded, attention = (
            array.repeat_interleave(samples, dim=0).to(policy.device)
            for array in (padded, attention)
        )
        zeros = torch.zeros(len(padded), room, device=padded.device)
        return cls(
            tokens=padded,
            attention=attention,
            mask=torch.zeros_like(zeros, dtype=torch.bool),
            log_probs=zeros,
            plain_log_probs=zeros.clone(),
            entropies=zeros.clone(),
            values=None if policy.value_head is None else zeros.clone(),
            prompt_lengths=attention.sum(dim=1),
            samples=samples,
        )

    def completed(self, prompts: Sequence[int], processes: Processes) -> _Batch:
        """With the completions of the other prompts, which other processes have sampled."""
        if processes.count == 1:
            return self
        rows = self.rows(prompts)

        def whole(array: Tensor) -> Tensor:
            return processes.whole(array[rows], rows, len(array))

        return replace(
            self,
            tokens=whole(self.tokens),
            attention=whole(self.attention),
            mask=whole(self.mask),
            log_probs=whole(self.log_probs),
            plain_log_probs=whole(self.plain_log_probs),
            entropies=whole(self.entropies),
            values=None if self.values is None else whole(self.values),
        )

    def rows(self, prompts: Sequence[int]) -> Tensor:
        """Where the completions of these prompts stand."""
        device = self.tokens.device
        first = torch.tensor(prompts, dtype=torch.long, device=device) * self.samples
        return (first[:, None] + torch.arange(self.samples, device=device)).flatten()

    def completions(
        self, tokenizer: Any, sampling: Sampling, ends: Sequence[int], stop: str | None
    ) -> Completions:
        room = self.mask.shape[1]
        prompt = self.tokens.shape[1] - room
        lengths = self.mask.sum(dim=1)
        last = self.tokens.gather(1, (prompt + lengths - 1)[:, None]).squeeze(1)
        finished = torch.isin(last, torch.tensor(ends, device=last.device)) & (lengths > 0)
        spoken = [
            row[kept].tolist() for row, kept in zip(self.tokens[:, prompt:], self.mask, strict=True)
        ]
        texts = tokenizer.batch_decode(spoken, skip_special_tokens=True)
        whole = Completions(
            tokens=self.tokens,
            attention=self.attention,
            mask=self.mask,
            log_probs=self.log_probs,
            plain_log_probs=self.plain_log_probs,
            entropies=self.entropies,
            values=self.values,
            prompt_lengths=self.prompt_lengths,
            finished=finished,
            text=tuple(text.partition(stop)[0] if stop else text for text in texts),
            sampling=sampling,
            samples_per_prompt=self.samples,
        )
        return whole.part(0, len(whole))


def _sample(
    policy: LanguagePolicy,
    batch: _Batch,
    prompts: Sequence[int],
    draws: Tensor,
    sampling: Sampling,
    ends: Sequence[int],
) -> None:
    """Write the completions of some prompts into the batch, a token at a time.

    Samples of a prompt that have said the same so far are one branch, and read once. Branches that
    have ended are dropped from the pass once they are half of it.
    """
    room, samples, device = batch.mask.shape[1], batch.samples, batch.tokens.device
    begin = batch.tokens.shape[1] - room
    ending = torch.tensor(list(ends), device=device)
    rows = batch.rows(prompts)
    first = rows[::samples]
    left = begin - int(batch.prompt_lengths[first].max())
    hidden, memory, read = policy.read_prompts(
        batch.tokens[first, left:begin], batch.attention[first, left:begin]
    )
    # Of each sequence that goes on: which branch it is on, and which sample of its prompt it is.
    branch = torch.arange(len(first), device=device).repeat_interleave(samples)
    sample = torch.arange(samples, device=device).repeat(len(first))
    draws = draws.to(device)
    for time in range(room):
        aims = draws.new_zeros(len(hidden), samples)
        if not sampling.greedy:
            aims[branch, sample] = draws[:, time]
        tokens, log_probs, plain, entropies = choose(policy.logits(hidden), aims, sampling)
        tokens = tokens[branch, sample]
        if batch.values is not None:
            batch.values[rows, time] = policy.values(hidden)[branch]
        batch.tokens[rows, begin + time] = tokens
        batch.attention[rows, begin + time] = True
        batch.mask[rows, time] = True
        batch.log_probs[rows, time] = log_probs[branch, sample]
        batch.plain_log_probs[rows, time] = plain[branch, sample]
        batch.entropies[rows, time] = entropies[branch]
        alive = (~torch.isin(tokens, ending)).nonzero().squeeze(1)
        if len(alive) == 0 or time + 1 == room:
            return
        rows, draws, sample = rows[alive], draws[alive], sample[alive]
        parents, said, branch = _forked(branch[alive], tokens[alive])
        forks = bool((parents[1:] == parents[:-1]).any())
        if forks or 2 * len(parents) <= len(hidden):
            memory.batch_select_indices(parents)
            read = read[parents]
        else:  # they stay where they are, among those that have ended
            branch = parents[branch]
            said = said.new_zeros(len(hidden)).index_copy(0, parents, said)
        attention = torch.cat((read, read.new_ones(len(read), time + 1)), dim=1)
        hidden = policy.read_on(said[:, None], attention, memory)[:, -1]


def _forked(branch: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Branches after one more token: where each comes from, its token, and whose it is."""
    size = int(tokens.max()) + 1
    distinct, which = torch.unique(branch * size + tokens, return_inverse=True)
    return distinct // size, distinct % size, which


@contextmanager
def _reading(policy: LanguagePolicy) -> Iterator[None]:
    """Without dropout, and without the checkpointing that forbids a cache."""
    training = policy.training
    policy.eval()
    try:
        with policy.gathered():
            yield
    finally:
        policy.train(training)
