"""Check one sentence: where context is missing, how much it matters, what to ask.

Step 4 of Figure 2 of the COBIAS paper: instead of refusing, a system can ask for missing context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from clinometer.display.notebook import titled_html
from clinometer.display.numbers import counted, show
from clinometer.display.text import plain, plain_records
from clinometer.errors import SettingsError
from clinometer.models import LoadOptions
from clinometer.reliability.blank_contribution import blank_contributions
from clinometer.reliability.blanks import PointSettings, propose_points
from clinometer.reliability.clarifying_questions import is_foreign, questions
from clinometer.reliability.score import cobias, stability
from clinometer.reliability.scoring import ReliabilitySettings
from clinometer.reliability.statement import Blanks, Statement
from clinometer.reliability.validation_status import NOT_VALIDATED
from clinometer.reliability.variants.fillers import FUNCTION_WORDS
from clinometer.reliability.variants.make import FILLER, Makers, VariantSettings, make_variants
from clinometer.statistics.estimate import Estimate

SCHEMA_VERSION = 1
SCORE = ("cv", "cobias", "stability", "stability_low", "stability_high")

#: The cost of scoring a version grows with (blanks + 1) · words². This budget sets the default
#: number of versions, so that a check takes less than 20 seconds on two cores.
_MOST, _LEAST, _BUDGET = 12, 4, 12_000


@dataclass(frozen=True)
class CheckedBlank:
    """One blank: its position, its fills, the question it raises, and how much it changes the
    sentence on its own. `share` is None if no blank changes anything."""

    number: int
    before: str
    after: str
    question: str
    fills: tuple[str, ...]
    cv: float
    share: float | None
    cobias_low: float | None = None
    cobias_high: float | None = None

    def suggestions(self, most: int = 3) -> tuple[str, ...]:
        """Fills that differ: none shares a word with one before it.

        >>> said = ("according to a study", "according to the news", "as everyone knows")
        >>> CheckedBlank(0, "", "", "", said, 0.0, None).suggestions()
        ('according to a study', 'as everyone knows')
        """
        chosen: list[str] = []
        words: set[str] = set()
        for fill in self.fills:
            own = set(fill.casefold().split())
            if not (own - FUNCTION_WORDS or own) & words and len(chosen) < most:
                chosen.append(fill)
                words |= own - FUNCTION_WORDS or own
        return tuple(chosen)


@dataclass(frozen=True, repr=False)
class Check:
    """The result of checking a sentence.

    points         the sentence with blanks, as placed by `proposer`
    versions       the sentence with context; `origins` says what filled in each one
    cv, cobias, stability
                   how much the versions differ from the sentence for the scoring models; stability
                   is 1 when context changes nothing. None when no version could be scored
    stability_low, stability_high
                   its 95 % interval over further versions; None with fewer than two
    blanks         in the order of the sentence
    """

    sentence: str
    target_terms: tuple[str, ...]
    points: str
    proposer: str
    versions: tuple[str, ...]
    origins: tuple[str, ...]
    cv: float | None
    cobias: float | None
    stability: float | None
    stability_low: float | None
    stability_high: float | None
    blanks: tuple[CheckedBlank, ...]
    models: dict[str, Any]

    def __repr__(self) -> str:
        return f"Check({self.points!r}, {self._outcome})"

    def _repr_html_(self) -> str:
        """The questions as a table, the most important first."""
        rows = [[b.question, show(b.share, "share")] for b in self.by_weight]
        return titled_html(self.points, ["question", "share of the change"], rows, self._outcome)

    @property
    def _outcome(self) -> str:
        scored = "not scored" if self.stability is None else f"stability {self.stability:.3f}"
        return f"{scored}, {counted(len(self.versions), 'version')}"

    @property
    def estimate(self) -> Estimate | None:
        """The stability with its interval; None if no version could be scored."""
        if self.stability is None:
            return None
        if self.stability_low is None or self.stability_high is None:
            return Estimate(self.stability)
        low, high = sorted((self.stability_low, self.stability_high))
        value = self.stability
        return Estimate(value, min(low, value), max(high, value), 0.95, "versions")

    @property
    def by_weight(self) -> list[CheckedBlank]:
        """Blanks, the most influential first."""
        return sorted(self.blanks, key=lambda b: -b.cv)

    @property
    def matters_most(self) -> int | None:
        """The index of the blank that changes the sentence most; None if none does, or if these
        versions cannot tell (its interval meets another's)."""
        if not self.blanks or self.by_weight[0].cv <= 0:
            return None
        first, *others = self.by_weight
        if first.cobias_low is None:
            return first.number if not others else None
        rivals = [b.cobias_high for b in others if b.cv > 0]
        clear = all(high is not None and high < first.cobias_low for high in rivals)
        return first.number if clear else None

    @property
    def standing(self) -> str:
        """What the score is worth."""
        return NOT_VALIDATED

    @property
    def questions(self) -> list[str]:
        """The distinct questions, the most important first."""
        return list(dict.fromkeys(b.question for b in self.by_weight))

    def to_dict(self) -> dict[str, Any]:
        """As docs/check.schema.json describes it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "sentence": self.sentence,
            "target_terms": list(self.target_terms),
            "points": self.points,
            "proposer": self.proposer,
            "versions": [
                {"text": text, "origin": origin}
                for text, origin in zip(self.versions, self.origins, strict=True)
            ],
            "score": {name: getattr(self, name) for name in SCORE},
            "blanks": plain(self.blanks),
            "matters_most": self.matters_most,
            "questions": self.questions,
            "models": self.models,
            "standing": {"validated": False, "why": self.standing},
        }


def check(
    sentence: str,
    *,
    targets: Sequence[str] = (),
    points: str | None = None,
    model: str | None = None,
    filler: str | None = None,
    models: Sequence[str] = ("pocket:bert",),
    n: int | None = None,
    temperature: float = 1.1,
    seed: int = 0,
    load: LoadOptions | None = None,
) -> Check:
    """Does a sentence need more context, and where?

    `n` is the number of versions. By default 12, down to 4 for a long sentence with many blanks:
    scoring time grows with the square of the length, and checks are interactive.

    `model` proposes blanks and writes versions (any generating model; None uses only the rules and
    the filler, offline); `filler` writes the remaining versions; `models` score. Pass `points` to
    place the blanks yourself.
    """
    text = " ".join(sentence.split())
    if not any(c.isalnum() for c in text):
        raise SettingsError("sentence: expected one with words, found none")
    if is_foreign(text):
        raise SettingsError(
            "sentence: expected English, found what looks like another language; blanks and "
            "questions are for English only"
        )
    load = load or LoadOptions()
    statement = Statement(id="sentence", text=text, targets=tuple(targets))
    lacking = [t for t in targets if t and not replace(statement, targets=(t,)).target_spans()]
    if lacking:
        raise SettingsError(f"target {lacking[0]!r}: expected a term of the sentence")
    how = VariantSettings(
        n=n or _MOST, model=model, filler=filler, temperature=temperature, seed=seed, load=load
    )
    makers = Makers(how)
    proposer = "given"
    if points is None:
        by = PointSettings(model=model, seed=seed, load=load)
        row = propose_points([statement], settings=by, writer=makers.writer).rows[0]
        points, proposer = row["context_points"], row["proposer"]
    blanks = Blanks.parse(points)
    if " ".join(blanks.plain.split()) != text or not len(blanks):
        raise SettingsError(f"points: expected the sentence with blanks (___), found {points!r}")
    statement = replace(statement, points=points)
    how = replace(how, n=n or affordable(blanks))
    made = make_variants([statement], settings=how, makers=makers)
    versions = made.variants.of(statement)
    whole: dict[str, Any] = dict.fromkeys(("cv_all", "stability_low", "stability_high"))
    checked = []
    if versions:
        settings = ReliabilitySettings(versions=None, seed=seed, load=load)
        table, _ = blank_contributions([statement], made.variants, models=models, settings=settings)
        rows = plain_records(table.sort_values("blank"))
        checked = _checked_blanks(blanks, versions, rows)
        whole = rows[0]
    cv = whole["cv_all"]
    return Check(
        sentence=text,
        target_terms=statement.targets,
        points=points,
        proposer=proposer,
        versions=versions,
        origins=tuple(made.rows[0]["origins"]),
        cv=cv,
        cobias=None if cv is None else float(cobias(cv)),
        stability=None if cv is None else float(stability(cv)),
        stability_low=whole["stability_low"],
        stability_high=whole["stability_high"],
        blanks=tuple(checked),
        models={
            "points": model if proposer == "model" else None,
            "versions": model,
            "filler": makers.filler.info.name if FILLER in made.rows[0]["origins"] else None,
            "score": list(models),
        },
    )


def affordable(blanks: Blanks) -> int:
    """The number of versions that can be scored interactively.

    >>> affordable(Blanks.parse("The ___ women at the ___ office are arrogant ___."))
    12
    >>> affordable(Blanks.parse("One ___ " + "more " * 30 + "___."))
    4
    """
    words = len(blanks.plain.split())
    return max(_LEAST, min(_MOST, _BUDGET // ((len(blanks) + 1) * words**2)))


def _checked_blanks(
    blanks: Blanks, versions: Sequence[str], rows: Sequence[dict[str, Any]]
) -> list[CheckedBlank]:
    """The blanks, in the order of their rows of `blank_contributions`."""
    fills = [f for f in map(blanks.fills_of, versions) if f is not None]
    return [
        CheckedBlank(
            number=number,
            before=row["before"],
            after=blanks.plain[blanks.positions[number] :].strip(),
            question=question,
            fills=tuple(dict.fromkeys(f[number] for f in fills if f[number])),
            cv=row["cv"],
            share=row["share"],
            cobias_low=row["cobias_low"],
            cobias_high=row["cobias_high"],
        )
        for number, (row, question) in enumerate(zip(rows, questions(blanks), strict=True))
    ]
