"""How well proposed blanks match verified ones: positions, pooled over all statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

from clinometer.reliability.blank_notation import Blanks


@dataclass(frozen=True)
class PointScore:
    """Precision: share of proposed blanks that are verified; recall: share of verified ones met."""

    proposed: int
    verified: int
    both: int

    @property
    def precision(self) -> float:
        return self.both / self.proposed if self.proposed else float("nan")

    @property
    def recall(self) -> float:
        return self.both / self.verified if self.verified else float("nan")

    @property
    def f1(self) -> float:
        """Their harmonic mean; 0 if nothing matched."""
        total = self.proposed + self.verified
        return 2 * self.both / total if total else float("nan")

    def to_dict(self) -> dict[str, float]:
        return {
            "proposed": self.proposed,
            "verified": self.verified,
            "both": self.both,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
        }


def positions(points: str, text: str) -> frozenset[int]:
    """The position of each blank: the number of letters and digits before it.

    Punctuation and spaces do not count: "office ___." and "office. ___" are the same position. If
    the wording of the points differs from the text, letters are aligned first.

    >>> sorted(positions("The ___ nurse is tired ___.", "The nurse is tired"))
    [3, 15]
    """
    blanks = Blanks.parse(points)
    own, letters = _letters(text), [_letters(part) for part in blanks.parts]
    before = list(accumulate(len(part) for part in letters[:-1]))
    theirs = "".join(letters)
    if theirs == own:
        return frozenset(before)
    meets = {0: 0}
    for a, b, size in SequenceMatcher(None, theirs, own, autojunk=False).get_matching_blocks():
        meets |= {a + k: b + k for k in range(1, size + 1)}
    return frozenset(meets[max(n for n in meets if n <= place)] for place in before)


def point_score(
    proposed: Iterable[str], verified: Iterable[str], texts: Sequence[str]
) -> PointScore:
    """Compare statement by statement; counts are summed, so long statements weigh more."""
    n_proposed = n_verified = n_both = 0
    for mine, theirs, text in zip(proposed, verified, texts, strict=True):
        a, b = positions(mine, text), positions(theirs, text)
        n_proposed, n_verified, n_both = (
            n_proposed + len(a),
            n_verified + len(b),
            n_both + len(a & b),
        )
    return PointScore(n_proposed, n_verified, n_both)


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())
