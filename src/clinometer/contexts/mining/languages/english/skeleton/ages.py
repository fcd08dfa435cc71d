"""Ages in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Token

_ONES = tuple(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen".split()
)
_TENS = tuple("zero ten twenty thirty forty fifty sixty seventy eighty ninety".split())


def age(token: Token) -> list[str]:
    """An age in words, "17", "17 years old" and "seventeen" alike; nothing for any other word."""
    if token.lower_ == "old":
        years = [c for c in token.lefts if c.dep_ == "npadvmod" and c.lower_.startswith("year")]
        numbers = [n for y in years for n in y.lefts if n.dep_ == "nummod" and not n.n_lefts]
        return age(numbers[-1]) if numbers else []
    if token.text.isdigit() and 2 <= int(token.text) < 100:
        tens, ones = divmod(int(token.text), 10)
        if tens < 2:
            return [_ONES[int(token.text)]]
        return [_TENS[tens] + (f"-{_ONES[ones]}" if ones else "")]
    word = token.lower_
    return [word] if (word in _ONES[2:] or word in _TENS[2:]) and not token.n_rights else []
