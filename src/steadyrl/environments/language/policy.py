"""A causal language model as a policy over tokens, with a value head and a frozen reference."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from steadyrl.environments.language.packing import Packed, pack
from steadyrl.maths.tokens import chosen_log_probs
from steadyrl.nets.processes import ALONE, Processes
from steadyrl.nets.shards import Shards


@dataclass(frozen=True, slots=True)
class TokenOutputs:
    """What a policy says about each token of its completions; (sequences, time), 0 off the mask."""

    log_probs: Tensor
    entropies: Tensor
    values: Tensor | None  # expected score before the token is chosen


class LanguagePolicy(nn.Module):
    """A transformers model, its head applied in chunks, and (if asked for) a value head.

    Everything that trains happens in `forward`, so that the module can be wrapped for data-parallel
    training as a whole.
    """

    def __init__(self, language_model: Any, *, value_head: bool = False) -> None:
        super().__init__()
        self.language_model = language_model
        self.value_head: nn.Linear | None = None
        self.in_bf16 = False  # products of the decoder, while weights and the head stay as they are
        self._shards: Shards | None = None
        if value_head:
            head = language_model.get_output_embeddings().weight
            self.value_head = nn.Linear(head.shape[1], 1, device=head.device, dtype=head.dtype)
            # The first values are 0 rather than noise: advantages begin as the scores themselves.
            nn.init.zeros_(self.value_head.weight)
            nn.init.zeros_(self.value_head.bias)
        self.train(language_model.training)

    @property
    def adapted(self) -> bool:
        """Whether adapters are trained rather than the model itself."""
        return hasattr(self.language_model, "disable_adapter")

    @property
    def context(self) -> int:
        """The most tokens that prompt and completion may have together."""
        return int(self._inner.config.max_position_embeddings)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self._head.weight.device  # type: ignore[no-any-return]

    @property
    def checkpointing(self) -> bool:
        """Whether activations are computed again in the backward pass instead of being kept."""
        return bool(getattr(self._inner, f"is_{self._recomputing}"))

    @checkpointing.setter
    def checkpointing(self, wanted: bool) -> None:
        if wanted:
            getattr(self._inner, f"{self._recomputing}_enable")({"use_reentrant": False})
        else:
            getattr(self._inner, f"{self._recomputing}_disable")()

    @property
    def _recomputing(self) -> str:
        """What transformers calls it: from 5.23 on it warns of the older name."""
        newly = hasattr(self._inner, "activation_checkpointing_enable")
        return "activation_checkpointing" if newly else "gradient_checkpointing"

    def shard(self, processes: Processes) -> None:
        """Keep only this process's shards of the weights, if the processes are to share them."""
        self._shards = processes.shard(self, self._inner)
        if self._shards is not None:
            from torch.distributed.fsdp import register_fsdp_forward_method

            register_fsdp_forward_method(self, "read_prompts")  # a pass may begin here, too

    def gathered(self) -> AbstractContextManager[None]:
        """All weights are here, also those that other processes hold; for reading only."""
        return nullcontext() if self._shards is None else self._shards.gathered()

    def forward(
        self,
        tokens: Tensor,
        attention: Tensor,
        mask: Tensor,
        *,
        temperature: float = 1.0,
        chunk: int = 256,
        samples_per_prompt: int = 1,
    ) -> TokenOutputs:
        """Log-probabilities, entropies and values of completion tokens.

        `tokens` and `attention` are (sequences, prompt + completion), prompts padded on the left,
        completions on the right; `mask` (sequences, completion) is true for the tokens asked about.
        If each prompt stands `samples_per_prompt` times in a row, what sequences begin with in
        common is read once only: the same numbers for less work.
        """
        length = mask.shape[1]
        chosen = tokens[:, -length:][mask]
        # Only tokens under the mask meet the head, the most expensive layer of a small model.
        if samples_per_prompt > 1 and not self._checkpoints_now():
            states, places = self._states_of_tree(tokens, attention, length, samples_per_prompt)
            # What several samples say after the same beginning is asked once.
            size = self._head.weight.shape[0]
            pairs, back = torch.unique(places[mask] * size + chosen, return_inverse=True)
            asked, chosen = states[pairs // size], pairs % size
        else:
            asked, back = self._hidden_of_each(tokens, attention, length)[mask], None
        log_probs, entropies = chosen_log_probs(
            asked,
            self._head.weight,
            chosen,
            head_bias=getattr(self._head, "bias", None),
            temperature=temperature,
            chunk=chunk,
        )

        def spread(values: Tensor) -> Tensor:
            return _spread(values if back is None else values[back], mask)

        values = None if self.value_head is None else spread(self.values(asked))
        return TokenOutputs(spread(log_probs), spread(entropies), values)

    def forget_all_but_value_gradient(self) -> None:
        """So that a step moves the value head alone."""
        for name, weight in self.named_parameters():
            if not name.startswith("value_head."):
                weight.grad = None

    def read_prompts(self, tokens: Tensor, attention: Tensor) -> tuple[Tensor, Any, Tensor]:
        """The last hidden state of each prompt, what to remember for going on, and its attention.

        What all of them begin with (solved examples, instructions) is read once. It then stands
        first in the memory, and padding between it and the rest of the shorter prompts.
        """
        shared = common_beginning(tokens, attention)
        if shared == 0 or len(tokens) == 1:
            hidden, memory = self._decode(tokens, attention, remember=True)
            return hidden[:, -1], memory, attention
        starts = tokens.shape[1] - attention.sum(dim=1)
        first = int(starts.min())
        row = int(starts.argmin())
        beginning = slice(first, first + shared)
        _, memory = self._decode(
            tokens[row : row + 1, beginning], attention[row : row + 1, beginning], remember=True
        )
        memory.batch_repeat_interleave(len(tokens))
        columns = torch.arange(first + shared, tokens.shape[1], device=tokens.device)
        rest = columns >= starts[:, None] + shared
        read = torch.cat((rest.new_ones(len(tokens), shared), rest), dim=1)
        hidden = self.read_on(tokens[:, first + shared :], read, memory)
        return hidden[:, -1], memory, read

    def read_on(self, tokens: Tensor, attention: Tensor, memory: Any) -> Tensor:
        """The hidden states after more tokens; `attention` covers the remembered ones too."""
        hidden, _ = self._decode(tokens, attention, memory=memory)
        return hidden

    def values(self, hidden: Tensor) -> Tensor:
        """The value head's opinion of hidden states, in 32 bits."""
        assert self.value_head is not None
        return self.value_head(hidden).squeeze(-1).float()  # type: ignore[no-any-return]

    def logits(self, hidden: Tensor) -> Tensor:
        """The head's logits of a few hidden states, in 32 bits."""
        return self._head(hidden).float()  # type: ignore[no-any-return]

    @property
    def _inner(self) -> Any:
        model = self.language_model
        return model.get_base_model() if self.adapted else model

    @property
    def _head(self) -> Any:
        return self._inner.get_output_embeddings()

    def _checkpoints_now(self) -> bool:
        return self.training and self.checkpointing

    def _decode(
        self, tokens: Tensor, attention: Tensor, *, memory: Any = None, remember: bool = False
    ) -> tuple[Tensor, Any]:
        positions = (attention.long().cumsum(dim=1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        decoder = getattr(self._inner, self._inner.base_model_prefix)
        with torch.autocast(tokens.device.type, torch.bfloat16, enabled=self.in_bf16):
            found = decoder(
                input_ids=tokens,
                attention_mask=attention.long(),
                position_ids=positions,
                past_key_values=memory,
                use_cache=remember or memory is not None,
            )
        return found.last_hidden_state, found.past_key_values

    def _hidden_of_each(self, tokens: Tensor, attention: Tensor, length: int) -> Tensor:
        """States before each completion token, every sequence read for itself."""
        found, _ = self._decode(tokens[:, :-1], attention[:, :-1])
        return found[:, -length:]

    def _read_tree(self, packed: Packed) -> Tensor:
        """The state after each token of a tree."""
        decoder = getattr(self._inner, self._inner.base_model_prefix)
        bias = torch.zeros(packed.sees.shape, dtype=self._head.weight.dtype, device=self.device)
        bias.masked_fill_(~packed.sees, torch.finfo(bias.dtype).min)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.in_bf16):
            found = decoder(
                input_ids=packed.tokens[None],
                attention_mask=bias[None, None],
                position_ids=packed.positions[None],
                use_cache=False,
            )
        return found.last_hidden_state[0]  # type: ignore[no-any-return]

    def _states_of_tree(
        self, tokens: Tensor, attention: Tensor, length: int, samples: int
    ) -> tuple[Tensor, Tensor]:
        """States, and which of them comes before each completion token (sequences, time).

        Slopes flow back through what the samples share.
        """
        prompt = tokens.shape[1] - length
        shared = common_beginning(tokens[::samples, :prompt], attention[::samples, :prompt])
        packed = pack(tokens, attention, length, samples, shared)
        if packed is not None:
            return self._read_tree(packed), packed.places
        if self._shards is not None:  # one pass in every process, whatever its prompts share
            found = self._hidden_of_each(tokens, attention, length)
        else:
            found = self._hidden_with_shared_prompts(tokens, attention, length, samples)
        places = torch.arange(found[..., 0].numel(), device=found.device)
        return found.flatten(0, 1), places.view(found.shape[:2])

    def _hidden_with_shared_prompts(
        self, tokens: Tensor, attention: Tensor, length: int, samples: int
    ) -> Tensor:
        """States before each completion token, every prompt read once, every completion alone."""
        prompt = tokens.shape[1] - length
        last, memory, read = self.read_prompts(
            tokens[::samples, :prompt], attention[::samples, :prompt]
        )
        first = last.repeat_interleave(samples, dim=0)[:, None]
        if length == 1:
            return first
        memory.batch_repeat_interleave(samples)
        read = read.repeat_interleave(samples, dim=0)
        seen = torch.cat((read, attention[:, prompt:-1]), dim=1)
        rest = self.read_on(tokens[:, prompt:-1], seen, memory)
        return torch.cat((first, rest), dim=1)


class Reference:
    """The policy as it was at the start: a frozen copy, or the policy with its adapters off."""

    def __init__(self, policy: LanguagePolicy, processes: Processes = ALONE) -> None:
        self._adapted = policy.adapted
        self.policy = policy if self._adapted else frozen_copy(policy, processes)

    @torch.no_grad()
    def __call__(self, tokens: Tensor, attention: Tensor, mask: Tensor, **settings: Any) -> Tensor:
        """Log-probabilities of the completion tokens; arguments as those of the policy."""
        off = self.policy.language_model.disable_adapter() if self._adapted else nullcontext()
        with off:
            outputs: TokenOutputs = self.policy(tokens, attention, mask, **settings)
        return outputs.log_probs


def frozen_copy(policy: LanguagePolicy, processes: Processes = ALONE) -> LanguagePolicy:
    """A copy without value head that no optimiser can move, in shards if the policy is."""
    model = policy.language_model
    copied = LanguagePolicy(_same_but_weights(model) if processes.sharded else copy.deepcopy(model))
    copied.checkpointing = False
    copied.in_bf16 = policy.in_bf16
    copied.eval().requires_grad_(requires_grad=False)
    copied.shard(processes)
    if processes.sharded:
        now = dict(policy.named_parameters())
        for name, weight in copied.named_parameters():
            weight.copy_(now[name].detach())
    return copied


def _same_but_weights(model: Any) -> Any:
    """A model made anew from the config of one whose shards no copy can be made of."""
    with torch.random.fork_rng(devices=[]):
        made = type(model)(copy.deepcopy(model.config))
    return made.to(device=model.device, dtype=model.dtype)


def common_beginning(tokens: Tensor, attention: Tensor) -> int:
    """How many tokens all prompts, padded on the left, begin with; less than any prompt is long."""
    lengths = attention.sum(dim=1)
    shortest = int(lengths.min())
    places = (tokens.shape[1] - lengths)[:, None] + torch.arange(shortest, device=tokens.device)
    heads = tokens.gather(1, places)
    equal = (heads == heads[:1]).all(dim=0).long().cumprod(dim=0)
    return min(int(equal.sum()), shortest - 1)


def _spread(values: Tensor, mask: Tensor) -> Tensor:
    """Back from the tokens under the mask to (sequences, time), with 0 elsewhere."""
    return values.new_zeros(mask.shape).masked_scatter(mask, values)
