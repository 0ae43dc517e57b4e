from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, Gemma2Config, GPT2Config

from steadyrl.core.errors import ConfigError
from steadyrl.environments.language.completions import Completions
from steadyrl.environments.language.generation import generate
from steadyrl.environments.language.models import (
    check_head,
    load_model,
    load_trained_state,
    remove_dropout,
    save_model,
    tiny_model,
    trained_state,
    with_lora,
)
from steadyrl.environments.language.packing import Packed, pack
from steadyrl.environments.language.policy import (
    LanguagePolicy,
    Reference,
    TokenOutputs,
    common_beginning,
)
from steadyrl.environments.language.sampling import Sampling
from steadyrl.environments.language.tokenizer import character_tokenizer

PROMPTS = ["1+2=", "123+45=", "9="]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return character_tokenizer("0123456789+=")


def _policy(tokenizer: Any, *, value_head: bool = False, seed: int = 1) -> LanguagePolicy:
    model = tiny_model(tokenizer, layers=2, width=32, heads=2, seed=seed)
    return LanguagePolicy(model, value_head=value_head)


def _completions(policy: LanguagePolicy, tokenizer: Any, samples: int = 4) -> Completions:
    return generate(
        policy,
        tokenizer,
        PROMPTS,
        Sampling(6),
        generator=torch.Generator().manual_seed(0),
        samples_per_prompt=samples,
    )


def _outputs(policy: LanguagePolicy, found: Completions, **settings: Any) -> TokenOutputs:
    outputs: TokenOutputs = policy(found.tokens, found.attention, found.mask, **settings)
    return outputs


def _gradients(policy: LanguagePolicy, found: Completions, **settings: Any) -> list[Tensor]:
    policy.zero_grad()
    outputs = _outputs(policy, found, **settings)
    total = (outputs.log_probs * found.mask.cumsum(dim=1)).sum() - 0.1 * outputs.entropies.sum()
    if outputs.values is not None:
        total = total + ((outputs.values - 0.3) ** 2)[found.mask].sum()
    torch.autograd.backward(total)
    return [weight.grad for weight in policy.parameters() if weight.grad is not None]


def test_padding_and_end_differ_and_texts_come_back(tokenizer: Any) -> None:
    assert len({tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id}) == 3
    encoded = tokenizer(["12+3=", "4="], padding=True)
    assert encoded["input_ids"][1][:3] == [tokenizer.pad_token_id] * 3
    assert tokenizer.decode(encoded["input_ids"][0], skip_special_tokens=True) == "12+3="
    with pytest.raises(Exception, match="UNK"):
        tokenizer("1-2")


def test_a_seed_fixes_the_tiny_model_and_leaves_other_randomness_alone(tokenizer: Any) -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first, again, other = (_policy(tokenizer, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(1), expected)
    for left, right in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(left, right)
    assert not torch.equal(next(first.parameters()), next(other.parameters()))
    standard = tiny_model(tokenizer)
    assert 700_000 < sum(weight.numel() for weight in standard.parameters()) < 900_000
    assert standard.config._attn_implementation == "eager"


def test_values_begin_at_nought_and_are_those_of_a_linear_head(tokenizer: Any) -> None:
    policy = _policy(tokenizer, value_head=True)
    found = _completions(policy, tokenizer)
    values = _outputs(policy, found).values
    assert values is not None
    assert (values == 0).all()
    assert policy.value_head is not None
    torch.nn.init.normal_(policy.value_head.weight)
    values = _outputs(policy, found).values
    row = found.tokens[5][found.attention[5]]
    states = policy.language_model.model(input_ids=row[None]).last_hidden_state[0]
    start = int(found.prompt_lengths[5])
    expected = policy.value_head(states[start - 1 : -1]).squeeze(1)
    assert values is not None
    torch.testing.assert_close(values[5][found.mask[5]], expected, rtol=1e-4, atol=1e-5)
    assert (values[~found.mask] == 0).all()


def test_prompts_read_once_give_the_numbers_and_slopes_of_prompts_read_again(
    tokenizer: Any,
) -> None:
    policy = _policy(tokenizer, value_head=True)
    assert policy.value_head is not None
    torch.nn.init.normal_(policy.value_head.weight)
    found = _completions(policy, tokenizer)
    plain, shared = _outputs(policy, found), _outputs(policy, found, samples_per_prompt=4)
    assert plain.values is not None
    assert shared.values is not None
    torch.testing.assert_close(shared.log_probs, plain.log_probs, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(shared.values, plain.values, rtol=1e-5, atol=1e-6)
    expected = _gradients(policy, found)
    torch.testing.assert_close(
        _gradients(policy, found, samples_per_prompt=4), expected, rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("beginning", ["1+1=2;9+9=18;3+4=7;", ""], ids=["examples", "none"])
def test_a_tree_of_shared_prompts_gives_the_numbers_and_slopes_of_each_sequence(
    tokenizer: Any, beginning: str
) -> None:
    policy = _policy(tokenizer, value_head=True)
    prompts = [(beginning + prompt).replace(";", "+") for prompt in PROMPTS]
    found = generate(
        policy,
        tokenizer,
        prompts,
        Sampling(6),
        generator=torch.Generator().manual_seed(0),
        samples_per_prompt=4,
    )
    length, prompt = found.mask.shape[1], found.tokens.shape[1] - found.mask.shape[1]
    shared = common_beginning(found.tokens[::4, :prompt], found.attention[::4, :prompt])
    assert shared == 1 + len(beginning)  # the token that begins a text is common to all
    packed = pack(found.tokens, found.attention, length, 4, shared)
    assert (packed is not None) == bool(beginning)  # short ones of little in common are not packed
    plain, tree = _outputs(policy, found), _outputs(policy, found, samples_per_prompt=4)
    torch.testing.assert_close(tree.log_probs, plain.log_probs, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(tree.entropies, found.entropies, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(tree.values, found.values, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(
        _gradients(policy, found, samples_per_prompt=4),
        _gradients(policy, found),
        rtol=1e-3,
        atol=1e-4,
    )


def test_a_tree_reads_every_token_once_and_lets_it_see_its_own_sequence_alone() -> None:
    # Two prompts, 5 6 7 and (padded) 5 8, two completions of each; 0 is padding.
    tokens = torch.tensor([[5, 6, 7, 1, 2], [5, 6, 7, 3, 0], [0, 5, 8, 4, 1], [0, 5, 8, 2, 2]])
    packed = pack(tokens, tokens != 0, 2, 2, 1)
    assert packed is not None
    assert packed.tokens.tolist() == [5, 6, 7, 8, 1, 3, 2, 4]
    assert packed.positions.tolist() == [0, 1, 2, 1, 3, 3, 2, 2]
    assert _seen(packed) == [
        [5],
        [5, 6],
        [5, 6, 7],
        [5, 8],
        [5, 6, 7, 1],
        [5, 6, 7, 3],
        [5, 8, 2],
        [5, 8, 4],
    ]
    assert packed.tokens[packed.places[0]].tolist() == [7, 1]
    assert packed.tokens[packed.places[1, :1]].tolist() == [7]
    assert packed.tokens[packed.places[2]].tolist() == [8, 4]
    assert packed.tokens[packed.places[3]].tolist() == [8, 2]


def test_what_samples_of_a_prompt_have_in_common_stands_in_the_tree_once() -> None:
    # 5 6 is completed as 1 2 3, 1 2 4 and 1 2 4 again; 5 7 as 1 2, 9 and 1; the last tokens (and
    # padding) are no part of the tree: nothing is asked about what follows them.
    tokens = torch.tensor(
        [
            [5, 6, 1, 2, 3, 8],
            [5, 6, 1, 2, 4, 8],
            [5, 6, 1, 2, 4, 8],
            [5, 7, 1, 2, 0, 0],
            [5, 7, 9, 0, 0, 0],
            [5, 7, 1, 0, 0, 0],
        ]
    )
    packed = pack(tokens, tokens != 0, 4, 3, 1)
    assert packed is not None
    assert _seen(packed) == [
        [5],
        [5, 6],
        [5, 7],
        [5, 6, 1],
        [5, 7, 1],
        [5, 7, 9],
        [5, 6, 1, 2],
        [5, 7, 1, 2],
        [5, 6, 1, 2, 3],
        [5, 6, 1, 2, 4],
    ]
    assert packed.tokens[packed.places[1]].tolist() == [6, 1, 2, 4]
    assert packed.places[1].tolist() == packed.places[2].tolist()
    assert packed.places[3, :2].tolist() == [2, 4]


def _seen(packed: Packed) -> list[list[int]]:
    return [[int(packed.tokens[j]) for j in row.nonzero().flatten()] for row in packed.sees]


def test_checkpointing_changes_no_gradient(tokenizer: Any) -> None:
    policy = _policy(tokenizer).train()
    found = _completions(policy, tokenizer)
    expected = _gradients(policy, found)
    policy.checkpointing = True
    assert policy.checkpointing
    assert _completions(policy, tokenizer).text == found.text
    for samples in (1, 4):
        gradients = _gradients(policy, found, samples_per_prompt=samples)
        torch.testing.assert_close(gradients, expected, rtol=1e-4, atol=1e-6)
    policy.checkpointing = False
    assert not policy.checkpointing


def test_the_reference_stays_where_the_policy_began(tokenizer: Any) -> None:
    policy = _policy(tokenizer, value_head=True)
    found = _completions(policy, tokenizer)
    reference = Reference(policy)
    before = _outputs(policy, found).log_probs.detach()
    torch.testing.assert_close(reference(found.tokens, found.attention, found.mask), before)
    with torch.no_grad():
        for weight in policy.parameters():
            weight.add_(0.05 * torch.ones_like(weight).cumsum(dim=-1).cos())
    assert not torch.allclose(_outputs(policy, found).log_probs, before, atol=1e-3)
    after = reference(found.tokens, found.attention, found.mask, samples_per_prompt=4)
    torch.testing.assert_close(after, before, rtol=1e-5, atol=1e-5)
    assert not after.requires_grad
    assert not any(weight.requires_grad for weight in reference.policy.parameters())


def test_a_saved_model_reloads_in_plain_transformers(tokenizer: Any, tmp_path: Path) -> None:
    policy = _policy(tokenizer, value_head=True)
    save_model(policy, tokenizer, tmp_path)
    tokens = torch.tensor([tokenizer("12+3=")["input_ids"]])
    expected = policy.language_model(input_ids=tokens).logits
    plain = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager")
    assert torch.equal(plain(input_ids=tokens).logits, expected)
    assert AutoTokenizer.from_pretrained(tmp_path)("12+3=")["input_ids"] == tokens[0].tolist()
    model, loaded_tokenizer = load_model(tmp_path)
    torch.testing.assert_close(model(input_ids=tokens).logits, expected, rtol=1e-4, atol=1e-5)
    assert loaded_tokenizer.padding_side == "left"


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_weights_are_kept_and_put_back_in_their_own_type(tokenizer: Any, kind: torch.dtype) -> None:
    policy = _policy(tokenizer, value_head=True).to(kind)
    state = trained_state(policy)
    assert {entry.dtype for entry in state.values()} == {kind}
    other = _policy(tokenizer, value_head=True, seed=9).to(kind)
    load_trained_state(other, state)
    for left, right in zip(policy.parameters(), other.parameters(), strict=True):
        assert torch.equal(left, right)
    with torch.no_grad():
        next(policy.parameters()).add_(1.0)
    assert torch.equal(next(iter(state.values())), next(other.parameters()))  # a copy
    with pytest.raises(ConfigError, match=r"value_head\.bias is unknown"):
        load_trained_state(_policy(tokenizer).to(kind), state)


def test_weights_that_are_tied_are_kept_once() -> None:
    config = GPT2Config(vocab_size=20, n_embd=16, n_layer=1, n_head=2)
    policy = LanguagePolicy(AutoModelForCausalLM.from_config(config))
    names = [name for name in trained_state(policy) if "lm_head" in name or "wte" in name]
    assert len(names) == 1


def test_another_architecture_works_as_it_is(tokenizer: Any) -> None:
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=32,
        bos_token_id=1,
        eos_token_id=2,
    )
    policy = LanguagePolicy(AutoModelForCausalLM.from_config(config), value_head=True)
    check_head(policy.language_model, "gpt2")
    policy.train()
    remove_dropout(policy.language_model)
    found = _completions(policy, tokenizer)
    for samples in (1, 4):
        outputs = _outputs(policy, found, samples_per_prompt=samples)
        torch.testing.assert_close(outputs.log_probs, found.log_probs, rtol=1e-4, atol=1e-5)


def test_logits_changed_after_the_head_are_refused() -> None:
    config = Gemma2Config(
        vocab_size=20,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        final_logit_softcapping=0.05,
    )
    with pytest.raises(ConfigError, match="changes its logits after the head"):
        check_head(AutoModelForCausalLM.from_config(config), "capped")


def test_a_folder_without_a_whole_model_is_refused(tokenizer: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no language model in it"):
        load_model(tmp_path / "nowhere")
    save_model(_policy(tokenizer), tokenizer, tmp_path)
    padding, tokenizer_without = tokenizer.pad_token, AutoTokenizer.from_pretrained(tmp_path)
    assert padding == tokenizer_without.pad_token
    tokenizer_without.pad_token = None
    tokenizer_without.save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="no padding token"):
        load_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not a tensor")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_model(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"weights \(model.safetensors\) are missing"):
        load_model(tmp_path)


def test_adapters_that_are_not_installed_name_their_extra(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ConfigError, match="extra 'lora'"):
        with_lora(_policy(tokenizer).language_model)


def test_adapters_alone_are_trained_and_the_reference_is_the_model_without_them(
    tokenizer: Any, tmp_path: Path
) -> None:
    pytest.importorskip("peft")
    plain = _policy(tokenizer)
    policy = LanguagePolicy(with_lora(_policy(tokenizer).language_model, rank=2), value_head=True)
    found = _completions(plain, tokenizer)
    expected = _outputs(plain, found).log_probs.detach()
    reference = Reference(policy)
    state = trained_state(policy)
    assert all("lora_" in name or "value_head" in name for name in state)
    with torch.no_grad():
        for weight in policy.parameters():
            if weight.requires_grad:
                weight.add_(0.1 * torch.ones_like(weight).cumsum(dim=-1).cos())
    moved = _outputs(policy, found, samples_per_prompt=4).log_probs
    assert not torch.allclose(moved, expected, atol=1e-3)
    unmoved = reference(found.tokens, found.attention, found.mask)
    torch.testing.assert_close(unmoved, expected, rtol=1e-4, atol=1e-5)
    assert len(_gradients(policy, found)) == len(state)
    save_model(policy, tokenizer, tmp_path)
    merged = LanguagePolicy(load_model(tmp_path)[0])
    torch.testing.assert_close(_outputs(merged, found).log_probs, moved, rtol=1e-4, atol=1e-4)
    load_trained_state(policy, state)
    torch.testing.assert_close(_outputs(policy, found).log_probs, expected, rtol=1e-4, atol=1e-5)
