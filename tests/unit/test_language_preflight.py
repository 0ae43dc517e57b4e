"""Laws of a language run before its first step: they hold, and each notices when it is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.language import ppo
from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.core.presets import parse_config
from steadyrl.environments.language.completions import Completions
from steadyrl.experiments import language_preflight
from steadyrl.experiments.preflight import preflight

Sampled = tuple[Completions, Tensor]


def _config(**settings: Any) -> LanguageConfig:
    values = {
        "algorithm": "language",
        "model": {"layers": 1, "width": 16, "heads": 2},
        "problems": {"digits": 1, "max_new_tokens": 4},
        "prompts_per_update": 8,
        "samples_per_prompt": 4,
        "kl": "reward",
    }
    config = parse_config({**values, **settings})
    assert isinstance(config, LanguageConfig)
    return config


def _found(config: LanguageConfig) -> dict[str, str]:
    """Severity by rule."""
    found = language_preflight.language_concerns(prepare(config))
    return {concern.rule: concern.severity for concern in found}


@pytest.mark.parametrize("settings", [{}, {"advantage": "group", "kl": "loss"}], ids=str)
def test_a_model_with_random_weights_breaks_no_law_and_only_scores_nothing(
    settings: dict[str, Any],
) -> None:
    concerns = preflight(_config(**settings))
    assert {concern.rule: concern.severity for concern in concerns} == {
        "P010": "note",
        "P015": "warning",
    }
    assert "differs by at most" in concerns[0].message


def test_losses_divided_by_the_part_at_hand_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = ppo.losses_of

    def per_part(learner: Any, batch: Any, rows: slice, config: Any, total: float, **_: Any) -> Any:
        return inner(learner, batch, rows, config, float(batch.completions.mask[rows].sum()))

    monkeypatch.setattr(ppo, "losses_of", per_part)
    assert _found(_config())["P010"] == "severe"


def _after_sampling(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[LanguageLearner, Sampled], Sampled]
) -> None:
    inner = ppo.sample

    def sampled(learner: LanguageLearner, config: LanguageConfig) -> Sampled:
        return change(learner, inner(learner, config))

    monkeypatch.setattr(language_preflight, "sample", sampled)


def _move(learner: LanguageLearner) -> None:
    with torch.no_grad():
        for weight in learner.policy.parameters():
            weight.mul_(1.1)


def test_a_sampler_that_is_not_the_policy_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(learner: LanguageLearner, sampled: Sampled) -> Sampled:
        _move(learner)
        return sampled

    _after_sampling(monkeypatch, change)
    found = _found(_config())
    assert found["P011"] == "severe"
    assert "P012" not in found


def test_a_reference_that_is_not_the_start_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(learner: LanguageLearner, sampled: Sampled) -> Sampled:
        assert learner.reference is not None  # made now, before the policy moves
        _move(learner)
        return sampled

    _after_sampling(monkeypatch, change)
    assert _found(_config())["P012"] == "severe"
    assert "P012" not in _found(_config(kl="none"))


def test_a_mask_that_leaves_out_the_last_token_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(learner: LanguageLearner, sampled: Sampled) -> Sampled:
        completions, scores = sampled
        places = torch.arange(completions.mask.shape[1])
        return replace(completions, mask=places < completions.lengths[:, None] - 1), scores

    _after_sampling(monkeypatch, change)
    assert _found(_config())["P014"] == "severe"


def test_padding_that_ends_completions_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(learner: LanguageLearner, sampled: Sampled) -> Sampled:
        learner.tokenizer.pad_token = learner.tokenizer.eos_token
        return sampled

    _after_sampling(monkeypatch, change)
    assert _found(_config())["P013"] == "warning"


def test_rewards_that_differ_are_no_concern(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(learner: LanguageLearner, sampled: Sampled) -> Sampled:
        completions, scores = sampled
        return completions, torch.arange(len(scores)).to(scores) % 2

    _after_sampling(monkeypatch, change)
    assert "P015" not in _found(_config())
