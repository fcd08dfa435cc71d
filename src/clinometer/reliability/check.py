"""One sentence, from start to end: where context is missing, how much it matters, what to ask.

Step 4 of Figure 2 of the COBIAS paper: instead of refusing, a system can ask for what it lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from clinometer.display.notebook import titled_html
from clinometer.display.numbers import counted, show
from clinometer.display.plain import plain
from clinometer.errors import SettingsError
from clinometer.models import LoadOptions
from clinometer.reliability.blank_notation import Blanks
from clinometer.reliability.blanks.contribution import blank_contributions, fills_of
from clinometer.reliability.blanks.propose import PointSettings, propose_points
from clinometer.reliability.clarifying_questions import questions
from clinometer.reliability.scoring.score import cobias, stability
from clinometer.reliability.scoring.settings import ReliabilitySettings
from clinometer.reliability.statement import Statement, VariantSet
from clinometer.reliability.variants.make import FILLER, Makers, VariantSettings, make_variants

SCHEMA_VERSION = 1

#: Versions when none are asked for: (blanks + 1) · words² of them is what scoring costs, and this
#: budget keeps it below 20 seconds on two cores.
_MOST, _LEAST, _BUDGET = 12, 4, 12_000


@dataclass(frozen=True)
class CheckedBlank:
    """One blank: where it stands, what was put there, the question for it, and how much it alone
    changes the sentence. `share` is None where no blank changes anything."""

    number: int
    before: str
    after: str
    question: str
    fills: tuple[str, ...]
    cv: float
    share: float | None


@dataclass(frozen=True, repr=False)
class Check:
    """What is known of a sentence.

    points         the sentence with blanks; `proposer` says who put them there
    versions       the sentence with context, `origins` who filled it in
    cv, cobias, stability
                   how much the versions differ from the sentence for the scoring models; stability
                   is 1 when context changes nothing. None when no version could be scored
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
    blanks: tuple[CheckedBlank, ...]
    models: dict[str, Any]

    def __repr__(self) -> str:
        return f"Check({self.points!r}, {self._outcome})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the questions, the most telling first."""
        rows = [[b.question, show(b.share, "share")] for b in self.by_weight]
        return titled_html(self.points, ["question", "share of the change"], rows, self._outcome)

    @property
    def _outcome(self) -> str:
        scored = "not scored" if self.stability is None else f"stability {self.stability:.3f}"
        return f"{scored}, {counted(len(self.versions), 'version')}"

    @property
    def by_weight(self) -> list[CheckedBlank]:
        """Blanks, the one that matters most first."""
        return sorted(self.blanks, key=lambda b: -b.cv)

    @property
    def matters_most(self) -> int | None:
        """The number of the blank that changes the sentence most; None when none does."""
        first = next(iter(self.by_weight), None)
        return first.number if first is not None and first.cv > 0 else None

    @property
    def questions(self) -> list[str]:
        """What to ask, the most telling first, each once."""
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
            "score": {name: getattr(self, name) for name in ("cv", "cobias", "stability")},
            "blanks": plain(self.blanks),
            "matters_most": self.matters_most,
            "questions": self.questions,
            "models": self.models,
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

    `n` versions are made; None takes 12, or down to 4 for a long sentence with many blanks, whose
    scoring grows with the square of its length: an answer is for somebody who waits.

    `model` proposes blanks and writes versions (any that writes; None: rules and the filler alone,
    offline); `filler` fills what is left open; `models` score. `points` is the sentence with blanks
    of one's own.
    """
    text = " ".join(sentence.split())
    if not any(c.isalnum() for c in text):
        raise SettingsError("sentence: expected one with words, found none")
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
        asked = PointSettings(model=model, seed=seed, load=load)
        row = propose_points([statement], settings=asked, writer=makers.writer).rows[0]
        points, proposer = row["context_points"], row["proposer"]
    blanks = Blanks.parse(points)
    if " ".join(blanks.plain.split()) != text or not len(blanks):
        raise SettingsError(f"points: expected the sentence with blanks (___), found {points!r}")
    statement = replace(statement, points=points)
    how = replace(how, n=n or affordable(blanks))
    made = make_variants([statement], settings=how, makers=makers)
    versions = made.variants
    settings = ReliabilitySettings(versions=None, replicates=0, seed=seed, load=load)
    cv, found = _scored(statement, blanks, versions, models, settings)
    return Check(
        sentence=text,
        target_terms=statement.targets,
        points=points,
        proposer=proposer,
        versions=versions.of(statement),
        origins=tuple(made.rows[0]["origins"]),
        cv=cv,
        cobias=None if cv is None else float(cobias(cv)),
        stability=None if cv is None else float(stability(cv)),
        blanks=found,
        models={
            "points": model if proposer == "model" else None,
            "versions": model,
            "filler": makers.filler.info.name if FILLER in made.rows[0]["origins"] else None,
            "score": list(models),
        },
    )


def affordable(blanks: Blanks) -> int:
    """Versions that can be scored while somebody waits.

    >>> affordable(Blanks.parse("The ___ women at the ___ office are arrogant ___."))
    12
    >>> affordable(Blanks.parse("One ___ " + "more " * 30 + "___."))
    4
    """
    words = len(blanks.plain.split())
    return max(_LEAST, min(_MOST, _BUDGET // ((len(blanks) + 1) * words**2)))


def _scored(
    statement: Statement,
    blanks: Blanks,
    versions: VariantSet,
    models: Sequence[str],
    settings: ReliabilitySettings,
) -> tuple[float | None, tuple[CheckedBlank, ...]]:
    """The sentence's context variance and its blanks; both from one round of scoring."""
    if not versions.of(statement):
        return None, ()
    asked = questions(blanks)
    table = blank_contributions([statement], versions, models=models, settings=settings).table
    fills = [f for f in (fills_of(blanks, v) for v in versions.of(statement)) if f is not None]
    found = []
    for row in sorted(table.to_dict(orient="records"), key=lambda r: r["blank"]):
        number = int(row["blank"])
        place = blanks.positions[number]
        found.append(
            CheckedBlank(
                number=number,
                before=blanks.plain[:place].strip(),
                after=blanks.plain[place:].strip(),
                question=asked[number],
                fills=tuple(dict.fromkeys(f[number] for f in fills if f[number])),
                cv=float(row["cv"]),
                share=plain(row["share"]),
            )
        )
    return plain(table["cv_all"].iloc[0]), tuple(found)
