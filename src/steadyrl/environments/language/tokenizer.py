"""A character tokenizer, made offline, in the form that any transformers model takes."""

from __future__ import annotations

from typing import Any

PAD, BEGIN, END = "<pad>", "<bos>", "<eos>"


def character_tokenizer(alphabet: str) -> Any:
    """One token a character, and three more: padding, begin and end of text.

    The three differ. Were padding and end the same token, masking one would mask the other, and
    the model would never learn to stop. Padding stands on the left, where generation needs it. A
    character outside the alphabet is refused when a text is encoded, not replaced.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    names = (PAD, BEGIN, END, *sorted(set(alphabet)))
    characters = Tokenizer(models.WordLevel({name: index for index, name in enumerate(names)}))
    characters.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    characters.decoder = decoders.Fuse()
    characters.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, names.index(BEGIN))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=characters,
        pad_token=PAD,
        bos_token=BEGIN,
        eos_token=END,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
