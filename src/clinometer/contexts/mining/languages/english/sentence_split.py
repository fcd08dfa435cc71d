"""English sentences: abbreviations, and the noise of transcripts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clinometer.contexts.mining.languages.shared.sentence_split import split_sentences

_SHORT = frozenset(
    "mr mrs ms dr st jr sr prof rev gen col lt sgt capt hon gov sen rep vs no nos vol pp ca c cf "
    "al etc e.g i.e u.s u.k d.c inc ltd co corp bros mt ft fr approx b d jan feb mar apr aug sept "
    "oct nov dec messrs op".split()
)
_SPEAKER = re.compile(r"^(?:[A-Z]\.\d+|@@?[A-Z]\d*):?\s*")
_NOISE = re.compile(r"<[^<>]{0,200}>|\[\[|\]\]|\{\{|\}\}|--+|\s-\s*$|\[\s*\d+\s*\]")
_FILLER = re.compile(r",?\s*\b(?:uh|um|uh-huh|you know|I mean)\b,?(?=\s|$)", re.IGNORECASE)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every sentence in a text.

    >>> text = "Dr. Smith left. He said no."
    >>> [text[a:b] for a, b in sentences(text)]
    ['Dr. Smith left.', 'He said no.']
    """
    return split_sentences(text, _SHORT)


def clean(sentence: str) -> str:
    """One line, without mark-up and without the fillers and speaker names of transcripts.

    >>> clean("B.42: Well, uh, he thought <laughter> of it.")
    'Well he thought of it.'
    """
    text = _SPEAKER.sub("", sentence)
    text = _FILLER.sub("", _NOISE.sub(" ", text))
    return " ".join(text.split())
