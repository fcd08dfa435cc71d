"""Tokenizers: how they write words, prompts around a slot, and conversations."""

from clinometer.models.tokens.heads import head_tokens, in_opening
from clinometer.models.tokens.load import (
    has_tokenizer,
    load_tokenizer,
    local_tokenizer,
)
from clinometer.models.tokens.slots import Marker, SlotGroup, slot_groups
from clinometer.models.tokens.templates import in_template, transcript
from clinometer.models.tokens.trie import NO_CHILD, ROOT, Tokens, Trie
from clinometer.models.tokens.words import (
    WordList,
    continuations,
    encode_all,
    word_tokens,
)

__all__ = [
    "NO_CHILD",
    "ROOT",
    "Marker",
    "SlotGroup",
    "Tokens",
    "Trie",
    "WordList",
    "continuations",
    "encode_all",
    "has_tokenizer",
    "head_tokens",
    "in_opening",
    "in_template",
    "load_tokenizer",
    "local_tokenizer",
    "slot_groups",
    "transcript",
    "word_tokens",
]
