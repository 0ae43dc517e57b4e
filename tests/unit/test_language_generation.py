from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from steadyrl.core.errors import ConfigError, TrainingDiverged
from steadyrl.environments.language.completions import Completions
from steadyrl.environments.language.generation import end_tokens, generate
from steadyrl.environments.language.models import tiny_model
from steadyrl.environments.language.policy import LanguagePolicy
from steadyrl.environments.language.sampling import Sampling, choose
from steadyrl.environments.language.tokenizer import character_tokenizer

PROMPTS = ["1+2=", "123+4567=", "9=", "55+5="]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return character_tokenizer("0123456789+=\n")


@pytest.fixture(scope="module")
def policy(tokenizer: Any) -> LanguagePolicy:
    model = tiny_model(tokenizer, layers=2, width=32, heads=2, context=64, seed=1)
    with torch.no_grad():  # far enough from uniform that a mistake shows
        for weight in model.parameters():
            weight.mul_(4.0 if weight.ndim == 2 else 1.0)
    return LanguagePolicy(model)


def _sampled(
    policy: LanguagePolicy, tokenizer: Any, prompts: list[str], seed: int = 0, **settings: Any
) -> Completions:
    sampling = settings.pop("sampling", Sampling(12))
    generator = torch.Generator().manual_seed(seed)
    return generate(policy, tokenizer, prompts, sampling, generator=generator, **settings)


@torch.no_grad()
def _from_scratch(policy: LanguagePolicy, tokens: Tensor) -> Tensor:
    """Log-probabilities of everything, from plain transformers, without padding or cache."""
    logits: Tensor = policy.language_model(input_ids=tokens[None]).logits[0]
    return logits.float().log_softmax(dim=-1)


@pytest.mark.parametrize("rows", [1, 4, 256])
def test_log_probs_equal_a_full_pass_over_each_sequence_alone(
    policy: LanguagePolicy, tokenizer: Any, rows: int
) -> None:
    found = _sampled(policy, tokenizer, PROMPTS, samples_per_prompt=3, rows=rows)
    assert len(found) == 12
    for row in range(len(found)):
        tokens = found.tokens[row][found.attention[row]]
        start = int(found.prompt_lengths[row])
        logs = _from_scratch(policy, tokens)[start - 1 : -1]
        expected = logs.gather(1, tokens[start:, None]).squeeze(1)
        torch.testing.assert_close(
            found.log_probs[row][found.mask[row]], expected, rtol=1e-5, atol=1e-5
        )
    torch.testing.assert_close(found.log_probs, found.plain_log_probs)


def test_the_policy_gives_what_it_was_sampled_with(policy: LanguagePolicy, tokenizer: Any) -> None:
    found = _sampled(policy, tokenizer, PROMPTS, samples_per_prompt=3)
    outputs = policy(found.tokens, found.attention, found.mask, chunk=5)
    torch.testing.assert_close(outputs.log_probs, found.log_probs, rtol=1e-5, atol=1e-5)


def test_neighbours_and_batches_do_not_change_what_a_prompt_gets(
    policy: LanguagePolicy, tokenizer: Any
) -> None:
    alone = _sampled(policy, tokenizer, PROMPTS[:1])
    for rows in (1, 2, 256):
        together = _sampled(policy, tokenizer, PROMPTS, rows=rows)
        first = together.part(0, 1)
        assert first.text == alone.text
        torch.testing.assert_close(first.tokens, alone.tokens)
        torch.testing.assert_close(first.log_probs, alone.log_probs, rtol=1e-5, atol=1e-5)


class _Counting(LanguagePolicy):
    """Counts the tokens that are read after the prompts."""

    def __init__(self, policy: LanguagePolicy) -> None:
        super().__init__(policy.language_model)
        self.read = 0

    def read_on(self, tokens: Tensor, attention: Tensor, memory: Any) -> Tensor:
        self.read += tokens.numel()
        return super().read_on(tokens, attention, memory)


@pytest.mark.parametrize("sampling", [Sampling(8), Sampling(8, temperature=0.3)])
def test_samples_of_a_prompt_are_those_of_the_prompt_asked_again_and_again(
    policy: LanguagePolicy, tokenizer: Any, sampling: Sampling
) -> None:
    ends = tokenizer("012", add_special_tokens=False)["input_ids"]
    once, again = _Counting(policy), _Counting(policy)
    settings: dict[str, Any] = {"sampling": sampling, "ends": ends}
    together = _sampled(once, tokenizer, PROMPTS, samples_per_prompt=8, **settings)
    repeated = [prompt for prompt in PROMPTS for _ in range(8)]
    apart = _sampled(again, tokenizer, repeated, **settings)
    assert together.text == apart.text
    torch.testing.assert_close(together.log_probs, apart.log_probs, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(together.entropies, apart.entropies, rtol=1e-5, atol=1e-5)
    assert len(set(together.text)) < len(together.text)  # some samples say the same,
    assert once.read < again.read  # which is read once


def test_greedy_equals_generate_of_transformers(policy: LanguagePolicy, tokenizer: Any) -> None:
    found = generate(policy, tokenizer, PROMPTS, Sampling(10, greedy=True))
    encoded = tokenizer(PROMPTS, return_tensors="pt", padding=True)
    expected = policy.language_model.generate(
        input_ids=encoded["input_ids"],
        attention_mask=encoded["attention_mask"],
        max_new_tokens=10,
        do_sample=False,
    )
    texts = tokenizer.batch_decode(
        expected[:, encoded["input_ids"].shape[1] :], skip_special_tokens=True
    )
    assert list(found.text) == texts


class _Script(LanguagePolicy):
    """Says given tokens whatever the model computes."""

    def __init__(self, policy: LanguagePolicy, script: list[list[int]]) -> None:
        super().__init__(policy.language_model)
        self._script, self._time = torch.tensor(script), 0

    def logits(self, hidden: Tensor) -> Tensor:
        wanted = self._script[: len(hidden), self._time]
        self._time += 1
        return torch.nn.functional.one_hot(wanted, self._head.out_features).float() * 50.0


def test_each_sequence_ends_at_its_own_end_and_the_loop_with_the_last(
    policy: LanguagePolicy, tokenizer: Any
) -> None:
    end = tokenizer.eos_token_id
    one, two = tokenizer("12", add_special_tokens=False)["input_ids"]
    script = _Script(policy, [[one, end, one, one], [one, two, two, end], [one, two, one, end]])
    found = generate(script, tokenizer, ["1=", "2=", "3="], Sampling(8, greedy=True))
    assert script._time == 4
    assert found.mask.tolist() == [[True, True, False, False], [True] * 4, [True] * 4]
    assert found.finished.tolist() == [True, True, True]
    assert found.lengths.tolist() == [2, 4, 4]
    assert found.text == ("1", "122", "121")
    assert (found.tokens[0, -2:] == tokenizer.pad_token_id).all()
    assert not found.attention[0, -2:].any()


def test_sequences_that_ended_early_are_dropped_without_disturbing_the_rest(
    policy: LanguagePolicy, tokenizer: Any
) -> None:
    """Half of many completions end before the others; the others' numbers stay right."""
    ends = tokenizer("01234", add_special_tokens=False)["input_ids"]
    found = _sampled(policy, tokenizer, PROMPTS, samples_per_prompt=8, ends=ends)
    assert len(set(found.lengths.tolist())) > 2
    outputs = policy(found.tokens, found.attention, found.mask)
    torch.testing.assert_close(outputs.log_probs, found.log_probs, rtol=1e-5, atol=1e-5)
    last = found.tokens[:, -found.mask.shape[1] :].gather(1, found.lengths[:, None] - 1).squeeze(1)
    assert torch.equal(found.finished, torch.isin(last, torch.tensor(ends)))


def test_a_completion_that_is_cut_off_is_not_finished(
    policy: LanguagePolicy, tokenizer: Any
) -> None:
    one = tokenizer("1", add_special_tokens=False)["input_ids"][0]
    found = generate(_Script(policy, [[one] * 3]), tokenizer, ["1="], Sampling(3, greedy=True))
    assert found.finished.tolist() == [False]
    assert found.text == ("111",)


def test_text_stops_where_the_stop_begins(policy: LanguagePolicy, tokenizer: Any) -> None:
    one, line = tokenizer("1\n", add_special_tokens=False)["input_ids"]
    script = _Script(policy, [[one, line, one]])
    found = generate(script, tokenizer, ["1="], Sampling(3, greedy=True), stop="\n")
    assert found.text == ("1",)
    assert found.finished.tolist() == [True]
    assert found.lengths.tolist() == [2]


def test_ends_are_the_end_of_text_and_all_that_holds_the_stop(tokenizer: Any) -> None:
    line = tokenizer("\n", add_special_tokens=False)["input_ids"][0]
    assert end_tokens(tokenizer) == (tokenizer.eos_token_id,)
    assert end_tokens(tokenizer, "\n") == (tokenizer.eos_token_id, line)


def test_parts_lose_nothing_but_padding(policy: LanguagePolicy, tokenizer: Any) -> None:
    found = _sampled(policy, tokenizer, PROMPTS, samples_per_prompt=2)
    for start in range(0, 8, 2):
        part = found.part(start, start + 2)
        assert part.tokens.shape[1] == int(part.prompt_lengths.max() + part.lengths.max())
        assert part.text == found.text[start : start + 2]
        outputs = policy(
            part.tokens, part.attention, part.mask, samples_per_prompt=part.samples_per_prompt
        )
        torch.testing.assert_close(outputs.log_probs, part.log_probs, rtol=1e-5, atol=1e-5)
    assert found.part(1, 3).samples_per_prompt == 1


# the choice of a token


def test_draws_follow_the_distribution_and_its_temperature() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0]]).log()  # 0, 1/3, 2/3
    draws = (torch.arange(3_000)[None] + 0.5) / 3_000
    tokens, logs, plain, _ = choose(logits, draws, Sampling())
    assert tokens[0].bincount(minlength=3).tolist() == [0, 1_000, 2_000]
    torch.testing.assert_close(logs, plain)
    tokens, logs, plain, _ = choose(logits, draws, Sampling(temperature=0.5))  # 1/5, 4/5
    assert tokens[0].bincount(minlength=3).tolist() == [0, 600, 2_400]
    assert logs[0, -1].exp().item() == pytest.approx(0.8)
    assert plain[0, -1].exp().item() == pytest.approx(2 / 3)


def test_top_p_keeps_the_fewest_tokens_that_reach_it() -> None:
    logits = torch.tensor([[0.1, 0.5, 0.15, 0.25]]).log()
    draws = (torch.arange(1_000)[None] + 0.5) / 1_000
    tokens, logs, plain, _ = choose(logits, draws, Sampling(top_p=0.7))
    assert set(tokens[0].tolist()) == {1, 3}
    assert logs[0, 0].exp().item() == pytest.approx(0.5 / 0.75)
    assert plain[0, 0].exp().item() == pytest.approx(0.5)
    only, certain, _, _ = choose(logits, draws, Sampling(top_p=0.01))
    assert set(only[0].tolist()) == {1}
    assert (certain == 0.0).all()


def test_the_largest_draw_never_picks_what_has_no_probability() -> None:
    logits = torch.tensor([[0.3, 0.7, 0.0]]).log()
    tokens, _, _, _ = choose(logits, torch.ones(1, 1), Sampling())
    assert tokens.tolist() == [[1]]


def test_weights_that_are_lost_are_named_as_such() -> None:
    with pytest.raises(TrainingDiverged, match="NaN or infinity instead of logits"):
        choose(torch.tensor([[0.0, float("nan")]]), torch.zeros(1, 1), Sampling())


def test_only_plain_sampling_is_as_trained() -> None:
    assert Sampling().as_trained
    for other in (Sampling(greedy=True), Sampling(temperature=0.7), Sampling(top_p=0.9)):
        assert not other.as_trained


# what cannot be completed


@pytest.mark.parametrize(
    ("prompts", "reason"),
    [
        ([], "no prompts"),
        (["1+x="], "cannot be written"),
        (["1" * 60], "prompt of 61 tokens .* exceed the model's context of 64"),
    ],
)
def test_a_prompt_that_cannot_be_completed_is_named(
    policy: LanguagePolicy, tokenizer: Any, prompts: list[str], reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        _sampled(policy, tokenizer, prompts)


def test_the_training_mode_is_put_back(policy: LanguagePolicy, tokenizer: Any) -> None:
    for training in (True, False):
        policy.train(training)
        _sampled(policy, tokenizer, ["1="])
        assert policy.training is training
    policy.eval()
