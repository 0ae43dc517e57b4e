"""What policy and reference say of the tokens of a batch, as they stand, without gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.environments.language.completions import Completions
from steadyrl.environments.language.policy import LanguagePolicy, TokenOutputs

READ_AT_ONCE = 128  # completions per pass without gradients, if no micro-batch is given


def read(
    learner: LanguageLearner, completions: Completions, config: LanguageConfig
) -> TokenOutputs:
    """What the policy says of every token."""

    def said(outputs: TokenOutputs) -> list[Tensor]:
        values = [] if outputs.values is None else [outputs.values]
        return [outputs.log_probs, outputs.entropies, *values]

    log_probs, entropies, *values = _read_by(
        lambda *arrays, **settings: said(learner.policy(*arrays, **settings)),
        learner.policy,
        learner,
        completions,
        config,
    )
    return TokenOutputs(log_probs, entropies, values[0] if values else None)


def refer(learner: LanguageLearner, completions: Completions, config: LanguageConfig) -> Tensor:
    """The reference's log-probabilities of every token."""
    (log_probs,) = _read_by(
        lambda *arrays, **settings: [learner.reference(*arrays, **settings)],
        learner.reference.policy,
        learner,
        completions,
        config,
    )
    return log_probs


def parts_of(rows: slice, size: int | None) -> Iterator[slice]:
    """The rows, so many at a time; all at once if no size is given."""
    step = size or max(rows.stop - rows.start, 1)
    for start in range(rows.start, rows.stop, step):
        yield slice(start, min(start + step, rows.stop))


@torch.no_grad()
def _read_by(
    reader: Callable[..., list[Tensor]],
    policy: LanguagePolicy,
    learner: LanguageLearner,
    completions: Completions,
    config: LanguageConfig,
) -> list[Tensor]:
    """What a reader of a policy says of all completions; each process reads its share."""
    count, width = completions.mask.shape
    mine = learner.processes.share(slice(0, count), config.samples_per_prompt)
    said = []
    with learner.processes.together(), policy.gathered():
        for rows in parts_of(mine, config.micro_batch_size or READ_AT_ONCE):
            part = completions.part(rows.start, rows.stop)
            found = reader(
                part.tokens,
                part.attention,
                part.mask,
                chunk=config.model.chunk,
                samples_per_prompt=part.samples_per_prompt,
            )
            said.append([_widened(array, width) for array in found])
    return [
        learner.processes.whole(torch.cat(arrays), mine, count)
        for arrays in zip(*said, strict=True)
    ]


def _widened(values: Tensor, width: int) -> Tensor:
    return torch.nn.functional.pad(values, (0, width - values.shape[1]))
