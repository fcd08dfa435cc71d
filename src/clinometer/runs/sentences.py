"""A finding, and the sentence that each kind of finding has.

A finding is data: its kind, whom it is about, numbers with intervals, and how sure it is. The
terminal, pages, `gate`, `compare`, JSON and Python read the same objects. Nothing but the templates
below makes English of them: one for each kind, in the order in which a reader meets them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from clinometer.display.numbers import (
    IN_SENTENCES,
    between,
    counted,
    p_relation,
    percent,
    risk,
    show,
)
from clinometer.display.text import brief
from clinometer.measure.factors import FactorShares
from clinometer.measure.population import POPULATIONS
from clinometer.statistics.estimate import Estimate

Sure = Literal["clear", "unclear", "cannot tell", "exact", "described"]

UNDECIDED = "undecided"
"""The entry of a tally for groups without a clear side."""


@dataclass(frozen=True)
class Finding:
    """One statement.

    kind     what it is about: a key of `TEMPLATES`
    sure     clear, unclear, cannot tell, exact (of a whole set) or described (no inference)
    who      the models that it is about
    tally    how many groups (or pairs, models) are on which side; with the undecided, all of them
    groups   the groups that it names, each with its number
    numbers  all other numbers, by name
    words    what the sentence calls things
    """

    kind: str
    sure: Sure = "described"
    who: tuple[str, ...] = ()
    tally: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, Estimate] = field(default_factory=dict)
    numbers: Mapping[str, Estimate] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The sentence."""
        return TEMPLATES[self.kind](self)

    @property
    def clear(self) -> int:
        """How many of what it counts are on a clear side."""
        return sum(n for side, n in self.tally.items() if side != UNDECIDED)

    @property
    def counted(self) -> int:
        """How many there are in all."""
        return sum(self.tally.values())

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The fields and the sentence as plain values, ready for JSON."""
        return {
            "kind": self.kind,
            "text": self.text,
            "sure": self.sure,
            "who": list(self.who),
            "tally": dict(self.tally),
            "groups": {name: number.to_dict() for name, number in self.groups.items()},
            "numbers": {name: number.to_dict() for name, number in self.numbers.items()},
            "words": dict(self.words),
        }


# --- Parts of sentences ----------------------------------------------------------------------


def capital(text: str) -> str:
    """A sentence begins with it."""
    return text[:1].upper() + text[1:]


def listed(names: Iterable[str], last: str = "and") -> str:
    """Names in a sentence: a, b and c."""
    each = list(names)
    return f" {last} ".join([", ".join(each[:-1]), each[-1]] if len(each) > 1 else each)


def are(n: int) -> str:
    return "is" if n == 1 else "are"


def ends(number: Estimate, digits: int = 3, *, size: bool = False) -> str:
    """(0.09 to 0.60), or nothing without an interval; of a size, without signs."""
    if number.low is None or number.high is None:
        return ""
    low, high = number.low, number.high
    if size:
        low, high = sorted((max(low, 0.0), high) if number.value > 0 else (max(-high, 0.0), -low))
    if digits == 3:
        return f" ({between(low, high, to=' to ')})"
    return f" ({minus(f'{low:.{digits}f}')} to {minus(f'{high:.{digits}f}')})"


def minus(text: str) -> str:
    """A number with the sign that print has."""
    return text.replace("-", "−")


def share_range(low: float, high: float) -> str:
    """20–30 %."""
    a, b = percent(low), percent(high)
    return a if a == b else f"{a.removesuffix(' %')}–{b}"


def _who(f: Finding) -> str:
    return brief(f.who[0], 40)


# --- Headlines of a run ----------------------------------------------------------------------


def _nothing(f: Finding) -> str:
    return f"{_who(f)} gave no answer that can be measured."


def _improbable(f: Finding) -> str:
    cells, least = f.numbers["cells"].value, f.numbers["least"].value
    return (
        f"{_who(f)} hardly ever writes any of these words: in {percent(cells)} of the cells they "
        f"carry less than {percent(least)} of its probability, so their shares say nothing about "
        "it."
    )


def _alike(f: Finding) -> str:
    return f"{_who(f)} answers {f.words['as']} in every {f.words['context']}: no lean, no swing."


def _leans(f: Finding) -> str:
    w, total = f.words, f.counted
    shares = [
        f"{name if total > 1 else ''} {percent(one.value)}".lstrip()
        for name, one in f.groups.items()
    ]
    named = f"{', '.join(shares)} {w['share']}"
    if len(shares) == 1 and total > 1:
        named = f"furthest: {named}"
    whom = next(iter(f.groups)) if total == 1 else f"any of {total} {w['many']}"
    if f.sure == "cannot tell":
        return f"{w['units']} cannot tell which way {_who(f)} leans for {whom} ({named})."
    sides = {side: n for side, n in f.tally.items() if n and side != UNDECIDED}
    clearly = "" if f.sure == "exact" else " clearly"
    if not sides:
        for_none = f"for none of {total} {w['many']}" if total > 1 else f"to neither for {whom}"
        return f"{_who(f)} leans{clearly} {for_none} ({named}){w['whole']}."
    first = f" of {total} {w['many']}"
    to = []
    for side, n in sides.items():
        to.append(f"to {side} for {whom if total == 1 else f'{n}{first}'}")
        first = ""
    left = f.tally.get(UNDECIDED, 0)
    even = "even" if f.sure == "exact" else UNDECIDED
    rest = f"; {left} {are(left)} {even}" if left and total > 1 else ""
    return f"{_who(f)} leans{clearly}{w['from']} {listed(to)} ({named}){rest}{w['whole']}."


def _counts(f: Finding) -> str:
    """How many groups are on which side of the mean, after what was seen of them."""
    w, total = f.words, f.counted
    left = f.tally.get(UNDECIDED, 0)
    if f.sure == "exact":
        return f", in exactly these {w['units']}"
    if f.sure == "cannot tell":
        return f"; {w['units']} cannot tell whether {w['other']} would show it"
    sides = [f"{n} {side}" for side, n in f.tally.items() if n and side != UNDECIDED]
    if total == 1:
        return f", clearly {sides[0].removeprefix('1 ')} {w['mean']}" if sides else ", not clearly"
    if sides:
        number, _, side = sides[0].partition(" ")
        sides[0] = f"{number} of {total} {w['many']} {are(int(number))} clearly {side}"
        rest = f"; {left} {are(left)} {UNDECIDED}" if left else ""
        return f"; {listed(sides)} {w['mean']}{rest}"
    return f"; no {w['lean']} the {total} {w['many']} is clear{w['whole']}"


def _rates(f: Finding) -> str:
    w = f.words
    start = f"{_who(f)} answers"
    cases = "of cases"
    if "decided" in f.numbers:
        decided = percent(f.numbers["decided"].value)
        start = f"Only {decided} of the answers of {_who(f)} are {w['answers']}. Of these it says"
        cases = ""
    each = [(name, percent(one.value)) for name, one in f.groups.items()]
    cases = f" {cases}" if cases else ""
    if len(each) == 1 or each[0][1] == each[1][1]:
        everyone = "" if f.counted == 1 else " for every group"
        about = "about " if f.counted > 1 and f.numbers["apart"].value > 0 else ""
        return f"{start} {w['answer']} in {about}{each[0][1]}{cases}{everyone}{_counts(f)}."
    (a, most), (b, least) = each
    apart = 100 * f.numbers["apart"].value
    points = f"{apart:.0f}" if apart >= 0.95 else percent(apart / 100).removesuffix(" %")
    plural = "" if points == "1" else "s"
    return (
        f"{start} {w['answer']} in {most}{cases} for {a} and in {least} for {b}, {points} "
        f"percentage point{plural} apart{_counts(f)}."
    )


def _given(groups: Mapping[str, Estimate], unit: str) -> str:
    """A 0.35 points more (0.09 to 0.60) and B 0.16 less (0.02 to 0.30)."""
    said = []
    for name, lean in groups.items():
        way = "more" if lean.value > 0 else "less"
        said.append(
            f"{brief(name, 40)} {abs(lean.value):.2f}{unit} {way}{ends(lean, 2, size=True)}"
        )
        unit = ""
    return listed(said)


def _scores(f: Finding) -> str:
    w, total = f.words, f.counted
    if "highest" in f.numbers:  # from a reference, not from each other
        each = [f"{name} ({f.groups[name].value:.2f})" for name in f.groups]
        if len(each) == 1:
            return f"{_who(f)} rates {each[0]} {w['scale']}{_counts(f)}."
        return f"{_who(f)} rates {each[0]} highest and {each[1]} lowest {w['scale']}{_counts(f)}."
    if f.sure == "cannot tell":
        return (
            f"{w['units']} cannot tell whether {_who(f)} scores any of {total} {w['many']} "
            "steadily higher or lower."
        )
    average = f"the average {w['one']}"
    left = f.tally.get(UNDECIDED, 0)
    if f.groups:
        others = f"; {left} of {total} {w['many']} {are(left)} {UNDECIDED}" if left else ""
        exact = f", in exactly these {w['units']}" if f.sure == "exact" else others
        return f"{_who(f)} gives {_given(f.groups, ' points')} than {average}{exact}."
    out = f.numbers.get("ruled out")
    ruled = f"; more than {out.value:.2f} points is ruled out for all of them" if out else ""
    return (
        f"{_who(f)} gives no {w['one']} clearly more or less than {average} over {w['units']}"
        f"{w['whole'] or ruled}."
    )


def _kinds(f: Finding) -> str:
    w = f.words
    if not f.groups:
        out = f.numbers.get("ruled out")
        ruled = f"; more than {_amount(out.value, w['unit'])} is ruled out" if out else ""
        return f"No kind of people ({w['looked at']}) clearly gets another answer{ruled}."
    often = " often" if "answer" in w else ""
    said = [f"{_more(lean, w['unit'], often)} for {name}" for name, lean in f.groups.items()]
    verb = f"answers {w['answer']}" if often else "gives"
    return f"{_who(f)} {verb} {listed(said)} than on average."


def _digits(unit: str) -> int:
    return 2 if unit == "points" else 1


def _amount(value: float, unit: str) -> str:
    return f"{value:.{_digits(unit)}f} {unit}"


def _more(lean: Estimate, unit: str, often: str = "") -> str:
    """0.35 points more (0.09 to 0.60)."""
    way = "more" if lean.value > 0 else "less"
    return f"{_amount(abs(lean.value), unit)} {way}{often}{ends(lean, _digits(unit), size=True)}"


def _shown(f: Finding) -> str:
    moving = [kind for kind, n in f.tally.items() if n]
    still = [kind for kind, n in f.tally.items() if not n]
    apart = [
        f"{_amount(one.value, f.words['unit'])} among {kind}" for kind, one in f.numbers.items()
    ]
    if moving and still:
        verdict = f"{listed(moving)} move the answer, {listed(still)} do not clearly"
    elif moving:
        verdict = f"{listed(moving)} {'both' if len(moving) == 2 else 'all'} move the answer"
    else:
        verdict = f"neither {listed(still, 'nor')} clearly move the answer"
    return f"{capital(verdict)}: it differs by {listed(apart)}."


# --- What follows a headline -----------------------------------------------------------------


def _parts(f: Finding) -> str:
    unit = f.words["unit"]
    digits = _digits(unit)

    def part(name: str) -> str:
        one = f.numbers[name]
        return f"{one.value:.{digits}f}{ends(one, digits)}"

    said = [f"the steady lean of {f.words['many']} is {part('lean')} {unit}"]
    if "swing" in f.numbers:
        said.append(f"their swing with the {f.words['context']} {part('swing')}")
    if "dice" in f.numbers:
        said.append(f"the dice of the same request, asked again, {part('dice')}")
    note = "" if len(said) == 3 else f" ({f.words['note']})"
    return f"As standard deviations, {listed(said)}{note}."


def _size(f: Finding) -> str:
    R, w = f.numbers["R"], f.words
    points = f"{f.numbers['points'].value:.2f} points" if "points" in f.numbers else ""
    interval = "" if R.low is None else between(R.low, R.high, to=" to ")
    if "above 0" in w:  # wide from few contexts, but some group leans: R is not 0
        interval = f"above 0, up to {risk(R.high)}"
    shown = "; ".join(part for part in (interval, points) if part)
    shown = f" ({shown})" if shown else ""
    return (
        f"R is {risk(R.value)}{w['unit']}{shown}, the distance from {w['reference']}; "
        f"{w['contexts']}; {w['about']}."
    )


def _steady(f: Finding) -> str:
    share, context = f.numbers["swing share"], f.words["context"]
    swings = f"swings with the {context}"
    if f.sure == "exact":
        if share.value <= 1e-9:
            return f"All of R is a steady lean; nothing {swings}."
        return f"{percent(1 - share.value)} of R is a steady lean, the rest {swings}."
    low, high = share.low, share.high
    if f.sure == "cannot tell" or low is None or high is None:
        few = f.words["few"]
        return f"How much of R is steady and how much {swings} cannot be told from {few}."
    if low >= 0.95:
        return f"Nearly all of R {swings}."
    if high <= 0.05:
        return "Nearly all of R is a steady lean."
    if low >= 0.5:
        return f"Most of R ({share_range(low, high)}) {swings}; the rest is steady."
    how_much = share_range(1 - high, 1 - low)
    most = "Most" if high <= 0.5 else "About half"
    return f"{most} of R ({how_much}) is a steady lean; the rest {swings}."


def _shared(f: Finding) -> str:
    w, same, apart = f.words, f.numbers["R_shared"].value, f.numbers["R_between"].value
    shuffled = f.numbers.get("shuffled")
    chance = "" if shuffled is None else f" ({risk(shuffled.value)} with shuffled words)"
    of_groups = f"{w['many']} differ by {risk(apart)} in the same {w['context']}{chance}"
    if w["most"] == "shared":
        return f"Most of R is the same for every {w['one']} ({risk(same)}); {of_groups}."
    if w["most"] == "between":
        return f"Most of R differs between {w['many']}: {of_groups}; {risk(same)} is common to all."
    return f"{risk(same)} of R is the same for every {w['one']}, and {of_groups}."


def _shuffled(f: Finding) -> str:
    if f.sure == "cannot tell":
        return (
            f"Shuffled between the categories, the same words give the same R "
            f"({risk(f.numbers['R shuffled'].value)}): lists this short cannot tell how much of "
            "its size comes from the words."
        )
    said: list[str] = []
    for measure in ("R", "R_bias"):
        given = f.numbers[f"{measure} shuffled"]
        above = f.tally[measure]
        place = "above" if above else "not above"
        name = capital(IN_SENTENCES[measure]) if not said else IN_SENTENCES[measure]
        said.append(
            f"{name} {risk(f.numbers[measure].value)} is {place} what the same words give when "
            f"they are shuffled between the categories ({between(given.low, given.high)})"
            if not said
            else f"{name} {risk(f.numbers[measure].value)} is {place} it "
            f"({between(given.low, given.high)})"
        )
    return f"{'; '.join(said)}."


def _placebo(f: Finding) -> str:
    w, n = f.words, f.numbers
    amounts = [_amount(n[name].value, w["unit"]) for name in ("groups", "edit")]
    if "ratio" not in n:
        ratio = "no ratio: the edits move nothing beyond dice"
    elif "least" not in n:
        ratio = f"ratio {n['ratio']:.1f}; too few {w['context']}s for an interval"
    elif "most" not in n and n["least"].value < 0.05:
        ratio = f"ratio {n['ratio']:.1f}, which so few {w['context']}s leave open"
    elif "most" not in n:
        ratio = f"ratio {n['ratio']:.1f}, at least {n['least']:.1f}"
    else:
        ratio = f"ratio {n['ratio']:.1f}, {n['least']:.1f} to {n['most']:.1f}"
    return (
        f"Another {w['one']} moves the answer by {amounts[0]}, an irrelevant edit by {amounts[1]} "
        f"({ratio})."
    )


def _other(f: Finding) -> str:
    n, w = f.numbers, f.words
    said = f"{percent(n['share'].value)} of the {w['what']} is other (none of the categories)"
    if "most" in n:
        said += f", most for {w['most']} ({percent(n['most'].value)})"
    if "R low" in n:
        low, high = n["R low"].value, n["R high"].value
        said += f"; if it were any category, R could be {risk(low)} to {risk(high)}"
    return f"{said}."


def _factors(f: Finding) -> str:
    parts = [
        f"{percent(one.value)}"
        + ("" if one.low is None or one.high is None else f" ({share_range(one.low, one.high)})")
        + f"{' goes' if i == 0 else ''} with {name}"
        for i, (name, one) in enumerate(f.groups.items())
    ]
    return f"Of the swing between contexts {', '.join(parts)}."


def _judge(f: Finding) -> str:
    n, w = f.numbers, f.words
    if "R" not in n:
        return (
            f"The judge {w['judge']} assigned the categories and is not calibrated: no labels of "
            "people say how often it errs, and its errors are part of these numbers (clinometer "
            "export labels)."
        )
    more = ""
    if f.sure == "unclear":
        more = (
            " The judge errs differently about different groups "
            f"(p {p_relation(n['groups alike'].value)}): one correction for all of them is not "
            "enough."
        )
    return (
        f"Corrected for the judge's errors by {n['labels']:,.0f} replies labelled by people "
        f"(agreement {percent(n['agreement'].value)}): R {n['R']!r}, bias risk {n['R_bias']!r}, "
        f"volatility risk {n['R_volatility']!r}.{more}"
    )


def _case(f: Finding) -> str:
    w, n = f.words, f.numbers
    ((group, score),) = f.groups.items()
    apart = n["apart"].value
    way = "above" if apart > 0 else "below"
    each = f", each the mean of {n['replies']:.2g} replies" if "replies" in n else ""
    return (
        f"{capital(group)} gets {score:.1f} in “{brief(w['case'], 70)}”, {abs(apart):.1f} points "
        f"{way} what all {w['many']} get there: the furthest of {n['answers']:,.0f} answers{each}."
    )


# --- Several runs ----------------------------------------------------------------------------


def _models(f: Finding) -> str:
    w, n, total = f.words, f.numbers, len(f.who)
    span = f"R {risk(n['lowest'].value)} to {risk(n['highest'].value)}"
    if w["because"]:
        return f"{total} runs {w['because']} ({span})."
    if f.sure == "cannot tell":
        return f"{total} models: {span}; these contexts cannot tell whether they differ."
    if f.sure == "unclear":
        return f"No difference between the {total} models is clear: {span}."
    named = "which has the lowest R is not clear"
    if "lowest" in w:
        named = f"{brief(w['lowest'], 40)} has the lowest, {brief(w['highest'], 40)} the highest R"
    verb = "differs" if f.clear == 1 else "differ"
    return f"Of {total} models ({span}), {named}; {f.clear} of {f.counted} pairs {verb} clearly."


def _leaning_models(f: Finding) -> str:
    w, n, total = f.words, f.tally["leaning"], f.counted
    if not n:
        return (
            f"None of {total} models clearly scores {w['many']} differently over {w['contexts']}."
        )
    verb = "scores" if n == 1 else "score"
    names = listed(brief(name, 40) for name in f.who)
    over = f"differently over {w['contexts']}"
    return f"{n} of {total} models clearly {verb} {w['many']} {over}: {names}."


def _edited_models(f: Finding) -> str:
    n = f.tally
    return (
        "An edit that should not matter (a blank line, the weather, the colour of a car) moves "
        f"the answer more than another {f.words['one']} does in {n['more']} of "
        f"{counted(f.counted, 'model')}, clearly in {f.numbers['clear']:.0f}."
    )


def _difference(f: Finding) -> str:
    what, n = IN_SENTENCES[f.words["measure"]], f.numbers
    a, b = (brief(name, 40) for name in f.who)
    d = n.get("difference")
    if d is None:
        return f"{a} and {b} cannot be compared in {what}."
    if f.sure == "clear":
        way = "higher" if d.value > 0 else "lower"
        interval = ends(d, size=True) if d.low is not None else f" (p {p_relation(n['p'].value)})"
        return f"{a} has a clearly {way} {what} than {b}: by {risk(abs(d.value))}{interval}."
    if f.sure == "cannot tell":
        return (
            f"{a} and {b} differ by {risk(abs(d.value))} in {what}; {n['n_eff']:.1f} effective "
            "contexts cannot tell whether others would show it."
        )
    return (
        f"{a} and {b} do not clearly differ in {what}: {show(d.value, 'signed')} "
        f"({show(d.low, 'signed')} to {show(d.high, 'signed')})."
    )


def _groups(f: Finding) -> str:
    a, b = (brief(name, 40) for name in f.who)
    if not f.clear:
        return f"No single {f.words['one']} differs clearly between {a} and {b}."
    verb = "differs" if f.clear == 1 else "differ"
    return (
        f"{f.clear} of {f.counted} {f.words['many']} {verb} clearly between {a} and {b}, "
        f"{brief(f.words['most'], 40)} most (p {p_relation(f.numbers['p'].value)})."
    )


def _shifts(f: Finding) -> str:
    a, b = (brief(name, 40) for name in f.who)
    unit = f.words["unit"]
    if f.sure == "cannot tell":
        return f"{f.words['units']} cannot tell whether {a} treats anybody differently than {b}."
    if not f.groups:
        out = f.numbers.get("ruled out")
        ruled = f"; a shift of more than {_amount(out.value, unit)} is ruled out" if out else ""
        return f"Nobody gets clearly more or less from {a} than from {b}{ruled}."
    said = [f"{brief(name, 40)} {_more(one, unit)}" for name, one in f.groups.items()]
    more = f.clear - len(said)
    others = f"; {more} more shift clearly" if more > 0 else ""
    return f"Measured from the mean, {a} gives {listed(said)} than {b}{others}."


# --- The gate --------------------------------------------------------------------------------


def _gated(f: Finding) -> str:
    """One row of a gate: how far it has changed, and where that is beside the margin."""
    w, rise, margin = f.words, f.numbers["rise"], f.numbers["margin"]
    points = w["unit"] != "R"

    def amount(value: float) -> str:
        return minus(f"{value:+.2f}") if points else show(value, "signed")

    unit = f" {w['unit']}" if points else ""
    limit = f"{margin:g}{unit}"
    changed = f"{w['what']} has changed by {amount(rise.value)}{unit}"
    if rise.low is None or rise.high is None:
        return f"{changed}; these contexts give no interval."
    where = {"worse": "all of it above", "cannot tell": "on both sides of"}
    place = where.get(w["verdict"], "all of it below")
    return f"{changed} ({amount(rise.low)} to {amount(rise.high)}), {place} {limit}."


# --- A fix -----------------------------------------------------------------------------------


def _fix(f: Finding) -> str:
    """The verdict on a fix, and the change that it rests on."""
    n, w = f.numbers, f.words

    def by(change: Estimate) -> str:
        return f"{minus(f'{change.value:+.1f}')}{ends(change, 1)}"

    before, after, change = n["before"].value, n["after"].value, n["change"]
    said = (
        f"{_who(f)}: {w['verdict']}. {capital(w['what'])}: from {before:.1f} to {after:.1f} "
        f"{w['unit']}, by {by(change)}"
    )
    if "swing" in n:
        said += f"; its swing changes by {by(n['swing'])}"
    if "control" in w:
        return f"{said}; {w['control']}."
    if change.low is None:
        return f"{said}; these contexts give no interval."
    return f"{said}{'; a larger change either way is ruled out' if f.sure == 'unclear' else ''}."


#: What each kind of finding says, in the order of a page.
TEMPLATES: dict[str, Callable[[Finding], str]] = {
    "nothing": _nothing,  # no answer can be measured
    "improbable": _improbable,  # the words carry almost none of the probability
    "alike": _alike,  # every answer is as the reference
    "kinds": _kinds,  # what people have in common who get more or less
    "leans": _leans,  # to which words it leans, and for how many groups
    "rates": _rates,  # who gets the favourable answer most and least often
    "scores": _scores,  # who gets more or less points
    "shown": _shown,  # whether names or descriptions move the answer
    "parts": _parts,  # lean, swing and dice of repeated replies
    "placebo": _placebo,  # how far an irrelevant edit moves the answer, beside another group
    "size": _size,  # R and its interval
    "steady": _steady,  # how much of R is steady and how much swings
    "shared": _shared,  # how much of R is the same for every group
    "shuffled": _shuffled,  # what shuffled words give
    "other": _other,  # answers that fit no category
    "factors": _factors,  # what the swing goes with
    "judge": _judge,  # whether the judge's errors are taken out
    "case": _case,  # the answer that is furthest from the mean
    "models": _models,  # how several models compare
    "leaning models": _leaning_models,  # how many of several models lean steadily
    "edited models": _edited_models,  # in how many an edit moves more than a group
    "difference": _difference,  # how far two models differ in a risk
    "groups": _groups,  # which groups differ between two models
    "shifts": _shifts,  # who gets more or less from one model than from another
    "gated": _gated,  # what a gate decides by
    "fix": _fix,  # what a prompt, an adapter or a steering vector did
}


# --- What the numbers of a run speak of -----------------------------------------------------------


def in_words(interval: Estimate, population: str) -> str:
    """What the interval of a risk is about, or why there is none.

    >>> in_words(Estimate(0.4, 0.3, 0.5, 0.95), "similar")
    '95 % intervals for contexts of this kind'
    """
    if interval.level is not None:
        return f"{100 * interval.level:g} % intervals for {POPULATIONS[population]}"
    if population == "set" and interval.note is None:
        return "exact for exactly these contexts, all of which were scored"
    return "no intervals"


def factor_notes(found: FactorShares, *, clusters: str | None) -> list[str]:
    """What a reader of the shares must know: what is resampled, and what is unknown."""
    notes = [] if found.note is None else [f"{found.note[0].upper()}{found.note[1:]}."]
    notes += [f"The share of {f.name} is unknown: {f.note}." for f in found.factors if f.note]
    if found.unit is not None and clusters is None:
        notes.append(
            f"The contexts share {found.n_units} levels of {found.unit}: --clusters {found.unit} "
            "gives intervals of R, Rᵇ and Rᵛ that allow for it."
        )
    return notes


def resampled(found: FactorShares) -> str:
    """What the intervals of the shares speak of."""
    if found.unit is None:
        return "Intervals: contexts are a sample, the levels of the factors are taken as they are."
    return (
        f"Intervals: levels of {found.unit} are a sample, those of other factors are taken as "
        "they are."
    )
