"""What the intervals speak of: similar contexts, a corpus, or a set."""

from __future__ import annotations

import numpy as np
import pytest
from tests.preferences import labelled, pair

from clinometer.contexts import ContextSet
from clinometer.errors import SettingsError
from clinometer.measure import Preferences
from clinometer.measure.preferences import Sampling


def preferences(contexts: ContextSet, up: dict[str, np.ndarray]) -> Preferences:
    """Those of a model whose answers in each context are known."""
    p = np.stack([up[t] for t in contexts.templates], axis=1)
    of = {"contexts": contexts.ids, "context_weights": contexts.weights}
    return labelled(pair(p), **of, sampling=contexts.sampling)


def named(n: int) -> list[str]:
    return [f"The [X] said on day {i} that [Y]" for i in range(n)]


def answers(rng: np.random.Generator, n: int, groups: int = 10) -> dict[str, np.ndarray]:
    lean = rng.normal(0.6, 0.05, (groups, 1))
    spread = np.clip(lean + rng.normal(0, 0.15, (groups, n)), 0.01, 0.99)
    return dict(zip(named(n), spread.T, strict=True))


@pytest.mark.parametrize("population", ["similar", "corpus", "set"])
def test_one_context_more_or_less_changes_no_width(population: str) -> None:
    """1,421 of 1,422 contexts, counts as mined ones have them."""
    rng = np.random.default_rng(3)
    counts = np.random.default_rng(1).zipf(2.2, 1422).clip(1, 200).astype(float)
    whole = ContextSet("mined", named(1422), counts.tolist())
    up = answers(rng, 1422)
    widths = []
    for n in (1421, 1422):
        report = preferences(whole.draw(n, seed=0), up).estimate(population=population)
        R = report.R
        widths.append(0.0 if R.low is None or R.high is None else R.high - R.low)
    if population == "set":  # exact with all contexts, and all but exact without one of them
        assert widths[1] == 0.0
        assert widths[0] < 0.002
    else:
        assert widths[0] == pytest.approx(widths[1], rel=0.05)


@pytest.mark.parametrize("population", ["corpus", "set"])
def test_intervals_hold_what_they_speak_of(population: str) -> None:
    """75 repetitions: at least 95 % less 3 standard errors (7.5), for all three risks."""
    rng = np.random.default_rng(7)
    held = np.zeros(3)
    for _ in range(75):
        up = answers(rng, 300, groups=6)
        law = rng.dirichlet(np.full(300, 0.5))
        mined = rng.multinomial(600, law)
        seen = np.flatnonzero(mined)
        names = [named(300)[i] for i in seen]
        found = ContextSet("mined", names, mined[seen].astype(float).tolist())
        if population == "corpus":
            asked = preferences(found, up)
            everything = ContextSet("law", named(300), np.maximum(law, 1e-12).tolist())
            truth = preferences(everything, up).decompose()
        else:
            asked = preferences(found.draw(60, seed=int(rng.integers(1 << 30))), up)
            truth = preferences(found, up).decompose()
        report = asked.estimate(population=population)
        for i, name in enumerate(("R", "R_bias", "R_volatility")):
            e, value = getattr(report, name), getattr(truth, name).value
            held[i] += e.low <= value <= e.high
    assert (held / 75 >= 0.875).all()


def test_a_whole_set_is_exact_for_itself() -> None:
    rng = np.random.default_rng(0)
    p = preferences(ContextSet("all", named(40), [2] * 40), answers(rng, 40))
    report = p.estimate(population="set")
    assert report.R.low is None
    assert report.R == p.decompose().R
    wide, narrow = p.estimate(population="similar").R, p.estimate(population="corpus").R
    assert wide.high - wide.low > narrow.high - narrow.low > 0  # type: ignore[operator]


def test_the_bracket_respects_the_population() -> None:
    """Little between its ends for a corpus of many occurrences, more for similar contexts."""
    rng = np.random.default_rng(0)
    up = dict(zip(named(20), rng.beta(5, 5, (20, 30)), strict=True))
    p = preferences(ContextSet("all", named(20), [500] * 20), up)
    plain = p.decompose().R_bias.value
    similar, corpus = (p.estimate(population=t).R_bias.value for t in ("similar", "corpus"))
    assert corpus == pytest.approx(plain, abs=0.01)
    assert similar < plain - 0.02


def test_what_cannot_be_meant_is_refused() -> None:
    rng = np.random.default_rng(0)
    p = preferences(ContextSet("all", named(9), [0.5] * 9), answers(rng, 9))
    with pytest.raises(SettingsError, match="counts of occurrences"):
        p.estimate(population="corpus")
    with pytest.raises(SettingsError, match="expected set, corpus, similar"):
        p.estimate(population="world")
    assert Sampling().draws("set") == np.inf
