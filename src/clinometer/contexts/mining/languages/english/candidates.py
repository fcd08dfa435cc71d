"""English sentences worth parsing, found without a parser."""

from __future__ import annotations

import re

#: A noun phrase that can be a subject: an article, no preposition or verb "to be" before it.
_SUBJECT_BEFORE = re.compile(
    r"(?:^|[\s\"“(,;:])"
    r"(?<!\bof )(?<!\bby )(?<!\bin )(?<!\bas )(?<!\bis )(?<!\bto )(?<!\bwas )(?<!\bfor )"
    r"(?<!\bwith )(?<!\bfrom )(?<!\bbecame )(?<!\bbeing )(?<!\bbeen )(?<!\bwere )(?<!\bare )"
    r"(?:the|an?|this|his|her|their|its|each|every|one|another|no|former)\s(?:[\w’'-]+\s){0,3}$",
    re.IGNORECASE,
)


def possible_subject(sentence: str, at: int, word: str) -> bool:
    """A person who can be the subject: "who", or a noun after an article and no preposition."""
    return word == "who" or _SUBJECT_BEFORE.search(sentence, max(0, at - 60), at) is not None
