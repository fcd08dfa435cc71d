"""From judgements to a dataset: the items that enough annotators accepted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from clinometer.errors import SettingsError
from clinometer.ranges import COUNT, SHARE_ABOVE_0
from clinometer.reliability.people.ratings import Ratings


@dataclass(frozen=True)
class Rule:
    """An item is accepted when `share` of its judgements are in `categories`.

    judgements: an item with fewer is not accepted. Shares are fractions, so that two of three is
    exactly two thirds.
    """

    categories: tuple[str, ...] = ("yes",)
    share: Fraction = Fraction(2, 3)
    judgements: int = 2

    def __post_init__(self) -> None:
        SHARE_ABOVE_0.check("share", self.share)
        COUNT.check("judgements", self.judgements)


def accepted(ratings: Ratings, rule: Rule) -> tuple[str, ...]:
    """Ids of the accepted items, in their order.

    >>> said = {"a": {"1": "yes", "2": "yes", "3": "no"}, "b": {"1": "yes", "2": "no", "3": "no"}}
    >>> accepted(Ratings.of(said), Rule())
    ('a',)
    """
    places = [k for k, c in enumerate(ratings.categories) if c in rule.categories]
    if not places:
        raise SettingsError(
            f"accept: expected one of {', '.join(ratings.categories)}; found "
            f"{', '.join(rule.categories)}"
        )
    counts = ratings.counts
    votes, given = counts[:, places].sum(axis=1), counts.sum(axis=1)
    return tuple(
        item
        for item, yes, n in zip(ratings.items, votes.tolist(), given.tolist(), strict=True)
        if n >= rule.judgements and yes >= rule.share * n
    )


def parse_share(text: str) -> Fraction:
    """2/3, 0.75 or 75% as a fraction.

    >>> parse_share("2/3"), parse_share("75%")
    (Fraction(2, 3), Fraction(3, 4))
    """
    try:
        if text.strip().endswith("%"):
            return Fraction(text.strip()[:-1]) / 100
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError) as error:
        raise SettingsError(
            f"--share: expected a share such as 2/3 or 0.75, found {text!r}"
        ) from error
