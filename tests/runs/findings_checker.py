"""Statements that cannot both be true, and numbers that differ between two outputs.

The checker knows what a reader sees: sentences with their kind and certainty, and the numbers that
are shown beside them (risks with intervals, shares by group, leans, differences, ranks). It reads
numbers from the sentences and computes everything else itself, so that it shares no code with what
it checks.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clinometer.measure import Comparison, RiskReport
from clinometer.measure.comparison import Difference
from clinometer.runs.findings import Facts, Finding

SUM = 1e-6
"""By how much R may differ from the sum of its parts."""

SAME = 1e-9
"""Numbers that are closer are equal but for rounding."""

LEAST_UNITS = {"R": 2.5, "R_bias": 4.0, "R_volatility": 4.0}
"""Effective units without which a risk has no interval."""

PERCENT = r"(?:[<>] )?[\d.]+ %"
ALONE = {"nothing": "no answer", "improbable": "hardly ever writes", "alike": "no lean, no swing"}
"""Headlines with nothing after them, and what they say."""

NAMES = {
    "R": "R",
    "R_bias": "bias risk",
    "R_volatility": "volatility risk",
    "R_between": "risk between groups",
}


@dataclass(frozen=True)
class Contradiction:
    """Two statements, or two numbers, of which one must be wrong."""

    rule: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.first} | {self.second}"


# --- One run ---------------------------------------------------------------------------------


def run_contradictions(
    f: Facts, found: Sequence[Finding], *, level: float = 0.95
) -> list[Contradiction]:
    """All contradictions between the findings of a run, and between them and its numbers."""
    first = found[0]
    faults = [*_intervals(f.report), *_alone(f, found)]
    if first.kind not in ALONE:
        faults += [*_certainty(f, found, level), *_headline_numbers(f, first)]
        faults += [*_size(f, found), *_steadiness(f, found), *_shared(f, found)]
    return faults


def _intervals(report: RiskReport) -> Iterator[Contradiction]:
    """R and its two parts, each in its interval, and no part beyond R."""
    R, bias, swing = report.R, report.R_bias, report.R_volatility
    if abs(R.value - bias.value - swing.value) > SUM:
        yield Contradiction("R is the sum of its parts", f"R {R!r}", f"{bias!r} and {swing!r}")
    for name, one in report.summary.items():
        if one.low is None or one.high is None:
            continue
        if not one.low - SAME <= one.value <= one.high + SAME:
            yield Contradiction("a value is in its interval", name, repr(one))
    for name, part in (("R_bias", bias), ("R_volatility", swing)):
        for end in ("low", "high"):
            whole, own = getattr(R, end), getattr(part, end)
            if whole is not None and own is not None and own > whole + SAME:
                yield Contradiction("no part exceeds R", f"{name}.{end} {own}", f"R.{end} {whole}")


def _alone(f: Facts, found: Sequence[Finding]) -> Iterator[Contradiction]:
    """What stands alone stands alone, and says what it is about."""
    kinds = [one.kind for one in found]
    for kind, said in ALONE.items():
        if kind in kinds and (len(found) > 1 or said not in found[0].text):
            yield Contradiction("one finding", kind, " ".join(map(str, found)))
    for one in found:
        if one.kind != "improbable" and f.improbable > 0.5 and any(_seen(f)):
            yield Contradiction("improbable words say nothing", f"{f.improbable:.2f}", one.text)
    if kinds[0] == "alike":
        if any(lean.category is not None for lean in f.leans):
            yield Contradiction("no lean", found[0].text, "a group leans clearly")
        if (f.report.R.high or 0.0) > SAME or f.report.R.value > SAME:
            yield Contradiction("no risk", found[0].text, f"R {f.report.R!r}")


def _certainty(f: Facts, found: Sequence[Finding], level: float) -> Iterator[Contradiction]:
    """What is called clear, unclear, exact or impossible to tell."""
    first, R = found[0], f.report.R
    text, seen, clear = first.text, sum(_seen(f)), sum(_clear(f))
    listed = f"{clear} of {seen} groups lean clearly"
    little = 2.0 ** (1 - f.units) > 1 - level and not f.exact
    if first.numbers.get("clear") != clear or first.numbers.get("seen") != seen:
        yield Contradiction("numbers of the headline", str(dict(first.numbers)), listed)
    for match in re.finditer(r"(\d+) of (\d+) (?:\w+ clearly differs?|(?:is|are) clear)", text):
        if (int(match[1]), int(match[2])) != (clear, seen):
            yield Contradiction("how many are clear", text, listed)
    every = re.search(r"all (\d+) are clear|all of them clearly", text)
    if every and (clear != seen or every[1] not in (None, str(seen))):
        yield Contradiction("all are clear", text, listed)
    none = bool(re.search(r"no (?:difference|lean)\b[^;]* is clear|no single|not clearly", text))
    if none and clear:
        yield Contradiction("none is clear", text, listed)
    if re.search(r"no (?:difference|lean)\b[^;]* is clear", text):
        if (R.low or 0.0) > 0:
            yield Contradiction("no difference, and R above 0", text, f"R {R!r}")
        between = f.report.R_between
        if re.search(r"no difference", text) and between is not None and (between.low or 0.0) > 0:
            yield Contradiction("no difference, and R_between above 0", text, f"{between!r}")
    if "cannot tell" in text and re.search(r"\bclear", text):
        yield Contradiction("cannot tell what is clear", text, text)
    if ("cannot tell" in text) != (first.sure == "cannot tell"):
        yield Contradiction("certainty in words", text, first.sure)
    if ("in exactly these" in text) != (first.sure == "exact"):
        yield Contradiction("certainty in words", text, first.sure)
    if first.sure == "cannot tell" and clear:
        yield Contradiction("cannot tell, and on the list", text, listed)
    if first.sure in ("clear", "unclear") and f.exact:
        yield Contradiction("exact", text, first.sure)
    if re.search(r"differ on the whole|leans? on the whole", text) and not (
        (f.report.R_bias.low or 0.0) > 0
    ):
        yield Contradiction("on the whole", text, f"bias {f.report.R_bias!r}")
    of_mean = re.search(r"clearly differs? from the mean \(([^)]*)\)", text)
    if of_mean and not f.relative:
        yield Contradiction("leans are from the reference", text, "the reference is not the mean")
    if of_mean and first.kind == "rates" and f.shares.shape[1] > 2:
        yield Contradiction("leans are to any answer", text, f"{f.shares.shape[1]} answers")
    if of_mean and " every group" in text and "about" not in text:
        yield Contradiction("all groups alike, and some differ", text, text)
    for one in found:
        if little and one.sure == "clear":
            yield Contradiction("too few units", one.text, f"{f.units} units")
        if one.sure == "exact" and not f.exact:
            yield Contradiction("exact", one.text, "a sample")
        if first.sure == "cannot tell" and one.sure == "clear":
            yield Contradiction("cannot tell, and clear", text, one.text)
        if one.sure == "unclear" and one.kind == "size" and clear:
            yield Contradiction("a group is clear, R is not", text, one.text)
        if "exact for exactly" in one.text and not f.exact:
            yield Contradiction("exact", one.text, "a sample")
    for name, least in LEAST_UNITS.items():
        e = f.report.summary[name]
        if f.report.n_eff < least - SAME and f.population == "similar" and e.low is not None:
            yield Contradiction("no interval from few units", f"{name} {e!r}", f"{f.report.n_eff}")


def _headline_numbers(f: Facts, first: Finding) -> Iterator[Contradiction]:
    """The groups and numbers in the headline are those of the arrays."""
    seen = np.flatnonzero(_seen(f))
    if first.kind == "ratings":
        values = f.shares @ np.array(f.report.criterion.points)
        yield from _ends(f, first, values[seen], _POINTS, seen.tolist())
    elif first.kind == "rates" and f.favourable is not None:
        if f"answers {f.words[f.favourable]} in" not in first.text:
            yield Contradiction("the favourable answer", first.text, f.words[f.favourable])
        yield from _ends(f, first, f.shares[seen, f.favourable], _RATES, seen.tolist())
    elif first.kind == "words" and "prefers neither" in first.text:
        if np.abs(f.report.mean_stereotype[seen]).max() > SAME:
            leans = f.report.mean_stereotype[seen].round(4)
            yield Contradiction("no preference on average", first.text, str(leans))
    elif first.kind == "words":
        match = re.search(
            rf"prefers (.+?)(?: more than the reference)? for .*({PERCENT})", first.text
        )
        if match is None or match[1] not in f.words:
            yield Contradiction("a sentence that can be read", first.text, str(f.words))
            return
        y = f.words.index(match[1])
        yield from _ends(f, first, f.shares[seen, y], _WORDS, seen.tolist())
        ahead = int((f.report.mean_stereotype[seen, y] > SAME).sum())
        tied = int((np.abs(f.report.mean_stereotype[seen, y]) <= SAME).sum())
        count = re.search(r" for ([\d,]+) of ([\d,]+) ", first.text)
        if count and not (ahead <= int(count[1]) <= ahead + tied and int(count[2]) == len(seen)):
            yield Contradiction("how many prefer it", first.text, f"{ahead} of {len(seen)}")
        if count and ahead + tied < len(seen) - ahead - tied:
            yield Contradiction("most prefer it", first.text, f"{ahead} of {len(seen)}")
    elif first.kind == "answers":
        yield from _furthest(f, first)


def _furthest(f: Facts, first: Finding) -> Iterator[Contradiction]:
    """Whose answers are furthest, and which leans are clear."""
    match = re.search(rf" for (\S+) \((\S+) ({PERCENT})\)", first.text)
    if match is None:
        yield Contradiction("a sentence that can be read", first.text, "answers")
        return
    x, y = f.groups.index(match[1]), f.words.index(match[2])
    if f.report.r[x] < np.nanmax(f.report.r) - SAME:
        yield Contradiction("furthest", first.text, str(f.report.r.round(4)))
    if not _percent_is(match[3], f.shares[x, y]):
        yield Contradiction("a share", first.text, f"{f.shares[x, y]:.5f}")
    if f.report.mean_stereotype[x, y] < np.max(f.report.mean_stereotype[x]) - SAME:
        yield Contradiction("favoured", first.text, str(f.report.mean_stereotype[x].round(4)))
    sides = Counter(lean.category for lean in f.leans if lean.category is not None)
    said = re.findall(r"(\d+) to (\S+?)(?=[,;.])", first.text.partition("clear leans: ")[2])
    for n, word in said:
        if sides[f.report.categories[f.words.index(word)]] != int(n):
            yield Contradiction("clear leans", first.text, str(dict(sides)))
    if (said and not sides) or (sides and not said and first.sure in ("clear", "unclear")):
        yield Contradiction("clear leans", first.text, str(dict(sides)))


_RATES = (
    rf"in (?P<high>{PERCENT}) of (?:decided )?cases.*? for (?P<top>.+?) and in "
    rf"(?P<low>{PERCENT}) for "
    r"(?P<bottom>.+?), (?P<apart>(?:< )?[\d.]+) percentage points apart"
)
_POINTS = (
    r"rates (?P<top>.+?) highest \((?P<high>[-\d.]+) on a scale of \S+ to \S+\) and "
    r"(?P<bottom>.+?) lowest \((?P<low>[-\d.]+)\), (?P<apart>[\d.]+) points apart"
)
_WORDS = rf"\w+: (?P<top>.+?) most, (?P<high>{PERCENT}); (?P<bottom>.+?) least, (?P<low>{PERCENT})"


def _ends(
    f: Facts, first: Finding, values: np.ndarray, pattern: str, seen: list[int]
) -> Iterator[Contradiction]:
    """The highest and the lowest group with their values, and how far apart these are."""
    low, high = float(values.min()), float(values.max())
    shown = f"{low:.6f} to {high:.6f}"
    match = re.search(pattern, first.text)
    same = _percent_is if "%" in pattern else _rounds_to
    text = re.sub(rf" \({PERCENT} of all\)", "", first.text)
    for decided in re.findall(rf"\(({PERCENT}) of all\)", first.text):
        if not _percent_is(decided, 1 - f.other):
            yield Contradiction("what is decided", first.text, str(f.other))
    if match is None:
        for number in re.findall(PERCENT if "%" in pattern else r"rates .*? (-?\d+\.\d\d) ", text):
            if not (same(number, low) or same(number, high)) and "the mean (" + number not in text:
                yield Contradiction("a number for all groups", first.text, shown)
        return
    given = match.groupdict()
    for name, value in (("high", high), ("low", low)):
        if not same(given[name], value):
            yield Contradiction("a number in the headline", first.text, shown)
    for name, value in (("top", high), ("bottom", low)):
        if given[name] not in f.groups:
            yield Contradiction("a group in the headline", first.text, str(f.groups))
        elif abs(values[seen.index(f.groups.index(given[name]))] - value) > SAME:
            yield Contradiction("highest and lowest", first.text, shown)
    if "apart" not in given:
        return
    factor = 100 if "%" in pattern else 1
    apart = factor * (high - low)
    text = given["apart"]
    if text.startswith("<"):
        if apart >= float(text[2:]):
            yield Contradiction("how far apart", first.text, shown)
    elif not _rounds_to(text, apart):
        yield Contradiction("how far apart", first.text, shown)
    elif float(text) == 0:
        yield Contradiction("different, and nothing apart", first.text, shown)
    if first.value is None or abs(first.value - apart) > SAME:
        yield Contradiction("value", first.text, f"{first.value}")
    mean = re.search(r"the mean \(([^)]*)\)", first.text)
    if mean:
        weights = f.report.group_weights[seen]
        middle = float(weights @ values / weights.sum())
        if not same(mean[1], middle):
            yield Contradiction("the mean", first.text, f"{middle:.5f}")


def _size(f: Facts, found: Sequence[Finding]) -> Iterator[Contradiction]:
    """R, its interval and its certainty in the sentence about its size."""
    R = f.report.R
    for one in found:
        if one.kind != "size":
            continue
        match = re.match(r"R is (\d+\.\d+)", one.text)
        if match is None or not _rounds_to(match[1], R.value):
            yield Contradiction("R in its sentence", one.text, repr(R))
        shown = re.sub(r"\(above 0, up to", "(0.000 to", one.text)
        ends = re.search(
            r"\((\d+\.\d+)(?: to (\d+\.\d+))?(?:; [\d.]+ points)?\), the distance", shown
        )
        if (ends is None) != (R.low is None):
            yield Contradiction("an interval in words", one.text, repr(R))
        elif ends is not None:
            for text, value in zip((ends[1], ends[2] or ends[1]), (R.low, R.high), strict=True):
                if value is None or not _rounds_to(text, value):
                    yield Contradiction("an interval in words", one.text, repr(R))
        if (one.value, one.low, one.high) != (R.value, R.low, R.high):
            yield Contradiction("numbers of R", one.text, repr(R))
        some = "above 0, up to" in one.text and any(g.category is not None for g in f.leans)
        if one.sure == "clear" and not (R.low or 0.0) > 0 and not some:
            yield Contradiction("clear", one.text, repr(R))
        if one.sure == "unclear" and (R.low is None or R.low > 0):
            yield Contradiction("unclear", one.text, repr(R))
        points = re.search(r"\((-?[\d.]+) points\)", one.text)
        if points and not _rounds_to(points[1], R.value * f.report.criterion.length):
            yield Contradiction("points", one.text, repr(R))


def _steadiness(f: Facts, found: Sequence[Finding]) -> Iterator[Contradiction]:
    """How much of R is steady agrees with R_bias / R and with the headline."""
    R, bias, swing = f.report.R, f.report.R_bias, f.report.R_volatility
    steady = 0.0 if R.value <= 0 else bias.value / R.value
    shown = f"R {R!r}, bias {bias!r}, volatility {swing!r}"
    for one in found:
        if one.kind != "steadiness":
            continue
        text = one.text
        if abs((one.value or 0.0) - (1 - steady)) > SUM:
            yield Contradiction("share of R", text, shown)
        if re.search(r"Nearly all of R swings", text) and steady > 0.05 + SUM:
            yield Contradiction("nearly all swings", text, shown)
        if re.search(r"(?:Nearly all|All) of R is a steady", text) and steady < 0.95 - SUM:
            yield Contradiction("nearly all is steady", text, shown)
        if re.search(r"Most of R .* swings with", text) and steady > 0.5 + SUM:
            yield Contradiction("most swings", text, shown)
        if re.search(r"Most of R .* is a steady", text) and steady < 0.5 - SUM:
            yield Contradiction("most is steady", text, shown)
        if "leans steadily" in found[0].text and re.search(r"(?:Most|all) .* is a steady", text):
            yield Contradiction("steady", found[0].text, text)
        span = re.search(r"of R \(([<> \d.]+?)(?: %)?(?:–([<> \d.]+))? ?%?\)", text)
        if span is not None:
            low, high = (_share(part) for part in (span[1], span[2] or span[1]))
            part = 1 - steady if re.search(r"\) swings", text) else steady
            if not low - 0.006 <= part <= high + 0.006:
                yield Contradiction("range of the share", text, shown)
        whole = re.match(rf"({PERCENT}) of R is a steady lean, the rest", text)
        if whole and not _percent_is(whole[1], steady):
            yield Contradiction("share that is steady", text, shown)
        if whole and whole[1] == "100 %":
            yield Contradiction("all, and a rest", text, text)


def _shared(f: Facts, found: Sequence[Finding]) -> Iterator[Contradiction]:
    """What the groups share agrees with its numbers and with the headline."""
    same, apart = f.report.R_shared, f.report.R_between
    for one in found:
        if one.kind != "shared" or same is None or apart is None:
            continue
        text, first, shown = one.text, found[0].text, f"{same!r} and {apart!r}"
        alike = text.startswith("Most of R is the same")
        differ = text.startswith("Most of R differs")
        if (alike and same.value <= apart.value) or (differ and same.value >= apart.value):
            yield Contradiction("most of R", text, shown)
        if "differ on the whole" in first and alike:
            yield Contradiction("the groups differ, and are alike", first, text)
        if differ and re.search(r"no difference .* is clear", first):
            yield Contradiction("no difference, and most of R differs", first, text)
        for name, value in (("by", apart.value),):
            number = re.search(rf"differ {name} (\d+\.\d+)", text)
            if number is None or not _rounds_to(number[1], value):
                yield Contradiction("numbers of the groups", text, shown)
        if f.report.R.value > same.value + apart.value + SUM or same.value > f.report.R.value + SUM:
            yield Contradiction("R_shared <= R <= R_shared + R_between", repr(f.report.R), shown)


def _seen(f: Facts) -> list[bool]:
    return [lean.favoured is not None for lean in f.leans]


def _clear(f: Facts) -> list[bool]:
    return [lean.category is not None for lean in f.leans]


# --- Comparisons -----------------------------------------------------------------------------


def comparison_contradictions(
    found: Comparison, said: Sequence[Finding], *, measure: str = "R"
) -> list[Contradiction]:
    """All contradictions between the findings of a comparison, and between them and its numbers."""
    pairs = [d for d in found.overall if d.measure == measure]
    return [
        *_tests(found),
        *_ranks(found),
        *_pairs(found, said, pairs),
        *_groups_of_pairs(found, said, pairs),
        *_models(found, said, pairs),
    ]


def _tests(found: Comparison) -> Iterator[Contradiction]:
    """An interval excludes 0 exactly when its corrected p-value is at most 1 - level."""
    alpha = 1 - found.level
    for d in found.overall:
        if d.low is None or d.high is None or d.p_corrected is None or d.corrected is None:
            continue
        if not d.low - SAME <= d.corrected <= d.high + SAME:
            yield Contradiction("a difference is in its interval", repr(d), f"{d.corrected}")
        near = min(abs(d.low), abs(d.high), abs(d.p_corrected - alpha)) <= SAME
        if not near and (d.low > 0 or d.high < 0) != (d.p_corrected <= alpha):
            yield Contradiction("p and interval", repr(d), f"p corrected {d.p_corrected}")


def _ranks(found: Comparison) -> Iterator[Contradiction]:
    """Ranks follow the values, and their ranges the intervals of the pairs."""
    for r in found.ranks:
        others = [o for o in found.ranks if o.measure == r.measure]
        if r.rank != 1 + sum(o.value < r.value - 1e-12 for o in others):
            yield Contradiction("rank", repr(r), str([o.value for o in others]))
        below = above = 0
        for d in found.overall:
            if d.measure == r.measure and r.model in (d.a, d.b) and (way := _way(d, found.level)):
                higher = (way > 0) == (d.a == r.model)
                below, above = below + higher, above + (not higher)
        if (r.low, r.high) != (1 + below, len(others) - above):
            ends = f"{1 + below} to {len(others) - above}"
            yield Contradiction("range of ranks", f"{r!r} {r.low} to {r.high}", ends)


def _pairs(
    found: Comparison, said: Sequence[Finding], pairs: Sequence[Difference]
) -> Iterator[Contradiction]:
    """What is said of a pair, and its numbers."""
    about = [one for one in said if one.kind == "difference"]
    values = {(r.model, r.measure): r.value for r in found.ranks}
    for one, d in zip(about, pairs, strict=True):
        text, way = one.text, _way(d, found.level)
        if "clearly higher" in text or "clearly lower" in text:
            sign = 1 if "clearly higher" in text else -1
            if way != sign:
                yield Contradiction("clearly", text, f"{d!r} {d.p_corrected}")
            if d.corrected is not None and sign * d.corrected <= 0:
                yield Contradiction("direction", text, f"corrected {d.corrected}")
            if sign * (values[d.a, d.measure] - values[d.b, d.measure]) <= 0:
                ranks = f"{values[d.a, d.measure]} and {values[d.b, d.measure]}"
                yield Contradiction("direction and ranks", text, ranks)
            if one.sure != "clear":
                yield Contradiction("clear", text, one.sure)
        elif way or one.sure == "clear":
            yield Contradiction("not clear", text, f"{d!r} {d.p_corrected}")
        if "do not clearly differ" in text and (d.low is None or one.sure != "unclear"):
            yield Contradiction("unclear", text, one.sure)
        head = text.partition(";")[0] if "cannot tell" not in text else text
        if "cannot tell" in text and re.search(r"\bclearly", text.replace("differs clearly", "")):
            yield Contradiction("cannot tell what is clear", text, text)
        unsigned = head.replace("−", "-")
        number = re.search(r"(?:by |: )([-+]?\d+\.\d{3})", unsigned)
        value = d.corrected if d.corrected is not None else d.value
        if number and value is not None:
            signed = value if number[1][0] in "+-" else abs(value)
            if not _rounds_to(number[1].removeprefix("+"), signed):
                yield Contradiction("a difference in words", text, f"{value}")
        ends = re.search(r"\(([-+]?\d+\.\d+) to ([-+]?\d+\.\d+)\)", unsigned)
        if ends and d.low is not None and d.high is not None:
            shown = [d.low, d.high]
            if ends[1][0] not in "+-":
                shown = sorted(map(abs, shown))
            for part, end in zip((ends[1], ends[2]), shown, strict=True):
                if not _rounds_to(part.removeprefix("+"), end):
                    yield Contradiction("an interval in words", text, repr(d))


def _groups_of_pairs(
    found: Comparison, said: Sequence[Finding], pairs: Sequence[Difference]
) -> Iterator[Contradiction]:
    """How many groups differ clearly between two models, and which most."""
    about = [one for one in said if one.kind == "groups"]
    rowed = {(d.a, d.b, d.measure.replace("r", "R", 1)) for d in found.by_group}
    pairs = [d for d in pairs if (d.a, d.b, d.measure) in rowed]
    if len(about) != len(pairs):
        yield Contradiction("groups that were compared", f"{len(pairs)} pairs", str(about))
        return
    for one, pair in zip(about, pairs, strict=True):
        measure = pair.measure.replace("R", "r", 1)
        rows = [d for d in found.by_group if (d.a, d.b, d.measure) == (pair.a, pair.b, measure)]
        p = {d.group: d.p_corrected for d in rows}
        clear = [g for g, v in p.items() if v is not None and v <= 1 - found.level]
        said_of = one.text.removeprefix(f"{pair.a} and {pair.b}: ")
        if (len(pairs) > 1) != (said_of != one.text):
            yield Contradiction("groups of which pair", one.text, f"{pair.a} and {pair.b}")
        match = re.match(r"(\d+) of (\d+) \w+ differs? clearly, (\S+) most \(p (.+?)\)", said_of)
        if (match is None) == bool(clear) or (one.sure == "clear") != bool(clear):
            yield Contradiction("groups that differ", one.text, f"{clear} of {len(rows)}")
        elif match is not None:
            if (int(match[1]), int(match[2])) != (len(clear), len(rows)) or match[3] not in clear:
                yield Contradiction("groups that differ", one.text, f"{clear} of {len(rows)}")
            shown = p.get(match[3]) or 0.0
            known = shown < 0.001 if match[4].startswith("<") else _rounds_to(match[4][2:], shown)
            if not known:
                yield Contradiction("p", one.text, f"{shown}")


def _models(
    found: Comparison, said: Sequence[Finding], pairs: Sequence[Difference]
) -> Iterator[Contradiction]:
    """What is said of all models."""
    for one in said:
        if one.kind != "models":
            continue
        text = one.text
        clear = sum(bool(_way(d, found.level)) for d in pairs)
        told = sum(other.kind == "difference" and other.sure == "clear" for other in said)
        count = re.search(r"(\d+) of (\d+) pairs differs? clearly", text)
        if count and (int(count[1]), int(count[2])) != (clear, len(pairs)):
            yield Contradiction("clear pairs", text, f"{clear} of {len(pairs)}")
        if bool(count) != bool(told) or (one.sure == "clear") != bool(told):
            yield Contradiction("clear pairs", text, f"{told} said to be clear")
        if "cannot tell" in text and (clear or re.search(r"\bclear", text)):
            yield Contradiction("cannot tell what is clear", text, f"{clear} clear")
        ranks = [r for r in found.ranks if r.measure == pairs[0].measure]
        place = {r.model: r for r in ranks}
        span = re.search(rf"{NAMES[pairs[0].measure]} (\d+\.\d+) to (\d+\.\d+)", text)
        values = sorted(r.value for r in ranks)
        if span is None or not (_rounds_to(span[1], values[0]) and _rounds_to(span[2], values[-1])):
            yield Contradiction("the span of the models", text, str(values))
        named = re.search(r"\), (\S+) has the lowest, (\S+) the highest", text)
        if named and (
            place[named[1]].rank != 1 or place[named[2]].rank != max(r.rank for r in ranks)
        ):
            yield Contradiction("lowest and highest", text, str(ranks))
        if named and (place[named[1]].high == len(ranks) or place[named[2]].low == 1):
            yield Contradiction("lowest and highest", text, "ranges of ranks are open")
        if "lowest" in text and "is not clear" in text and any(r.high == 1 for r in ranks):
            yield Contradiction("which is lowest", text, str([(r.low, r.high) for r in ranks]))
    ways = {(d.a, d.b): _way(d, found.level) for d in pairs}
    ways |= {(b, a): -way for (a, b), way in ways.items()}
    for a, b, c in itertools.permutations(found.models, 3):
        if ways[a, b] > 0 and ways[b, c] > 0 and ways[c, a] > 0:
            yield Contradiction("a circle", f"{a} > {b} > {c}", f"{c} > {a}")


def _way(d: Difference, level: float) -> int:
    """+1 where a is clearly higher, -1 where b is, else 0: by the interval, or by p without one."""
    if d.low is not None and d.high is not None:
        return int(d.low > 0) - int(d.high < 0)
    known = d.p_corrected is not None and d.p_corrected <= 1 - level
    return int(np.sign(d.corrected or 0.0)) if known else 0


# --- Numbers in sentences --------------------------------------------------------------------


def _rounds_to(text: str, value: float) -> bool:
    """Whether a number is this text, at the digits that it shows."""
    shown = text.replace("−", "-").replace(",", "")
    half = 0.5 * 10.0 ** -len(shown.partition(".")[2])
    return abs(float(shown) - value) <= half + SAME


def _percent_is(text: str, share: float) -> bool:
    """Whether a share is this text: 34 %, < 0.1 %, > 99.9 %."""
    shown = text.removesuffix("%").strip()
    if shown.startswith("<"):
        return 0 < share < _share(shown)
    if shown.startswith(">"):
        return _share(shown) < share < 1
    return _rounds_to(shown, 100 * share)


def _share(text: str) -> float:
    """The number in a percentage."""
    return float(re.sub(r"[<>%\s]", "", text)) / 100
