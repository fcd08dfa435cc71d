"""Context sets made in Python: weights, identity, draws."""

from __future__ import annotations

import hashlib
import math
import pickle
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinometer.contexts import ContextSet
from clinometer.contexts.context_set import DrawRecord, TopRecord
from clinometer.errors import ContextError

SAID, FELT, SAW = "The [X] said that [Y]", "The [X] felt that [Y]", "The [X] saw [Y]"
THREE = ContextSet("three", [SAID, FELT, SAW], [2, 1, 1], {"verb": ["say", "feel", "see"]})

verbs = st.text("abcdefghij", min_size=1, max_size=6)
counts = st.integers(1, 10**6) | st.floats(0.001, 1e6)
rows = st.dictionaries(verbs, counts, min_size=1, max_size=30)


def set_of(verb_counts: dict[str, float]) -> ContextSet:
    return ContextSet(
        "verbs", [f"The [X] {v} [Y]" for v in verb_counts], list(verb_counts.values())
    )


def test_weights_and_n_eff() -> None:
    np.testing.assert_allclose(THREE.weights, [0.5, 0.25, 0.25])
    # 1 / (1/4 + 1/16 + 1/16) = 16/6
    assert THREE.n_eff == pytest.approx(16 / 6)
    assert len(THREE) == 3


def test_sha256_is_taken_over_the_sorted_lines() -> None:
    lines = f"{FELT}\t1\n{SAID}\t2\n{SAW}\t1\n"
    assert THREE.sha256 == hashlib.sha256(lines.encode()).hexdigest()


def test_ids_are_the_first_digits_of_the_template_hash() -> None:
    assert THREE.ids[0] == hashlib.sha256(SAID.encode()).hexdigest()[:12]
    assert len(set(THREE.ids)) == 3


def test_ids_stay_different_when_digits_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    class Same:
        def __init__(self, _: bytes) -> None: ...

        def hexdigest(self) -> str:
            return "f" * 64

    monkeypatch.setattr("clinometer.contexts.context_set.hashlib.sha256", Same)
    assert ContextSet("a", [SAID, FELT], [1, 1]).ids == ("f" * 12, "f" * 12 + "-2")


def test_repeated_templates_are_merged_and_counted() -> None:
    merged = ContextSet("m", [SAID, FELT, f" {SAID}  "], [1, 2, 3], {"verb": ["a", "b", "c"]})
    assert merged.templates == (SAID, FELT)
    assert merged.counts == (4.0, 2.0)
    assert merged.extra == {"verb": ("a", "b")}
    assert merged.merged == 1


def test_whitespace_is_collapsed() -> None:
    assert ContextSet("m", ["\tThe [X]\n said  that [Y] "], [1]).templates == (SAID,)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("The [X] said", r"expected \[Y\] once, found none"),
        ("She said that [Y]", r"expected \[X\] once, found none"),
        ("", r"expected \[X\] once, found none"),
        ("[X] and [X] said [Y]", r"expected \[X\] once, found 2"),
        ("[X] said [Y] and [Y]", r"expected \[Y\] once, found 2"),
        ("The [x] said [Y]", r"expected \[X\] once, found \[x\]; write the slot as \[X\]"),
        ("The [X] saw a [x] and [Y]", r"found \[x\]"),
        ("The [ X ] said [Y]", r"found \[ X \]; write the slot as \[X\]"),
        (3, "expected a text, found 3"),
    ],
)
def test_invalid_templates_are_refused(template: str, message: str) -> None:
    with pytest.raises(ContextError, match=rf"context set 'a': template 2: .*{message}"):
        ContextSet("a", [SAID, template], [1, 1])


def test_other_brackets_are_text() -> None:
    assert len(ContextSet("a", ["The [X] [sic] said [Y]"], [1])) == 1


@pytest.mark.parametrize("count", [0, -1, math.nan, math.inf, "3", None, True])
def test_invalid_counts_are_refused(count: float) -> None:
    with pytest.raises(ContextError, match="template 1: count: expected a number above 0"):
        ContextSet("a", [SAID], [count])


def test_numpy_counts_are_accepted() -> None:
    counts: Any = np.array([1, 2])  # no sequence to the type checker
    assert ContextSet("a", [SAID, SAW], counts).counts == (1.0, 2.0)


def test_mismatched_lengths_are_refused() -> None:
    with pytest.raises(ContextError, match="at least one template"):
        ContextSet("a", [], [])
    with pytest.raises(ContextError, match=r"counts: expected 1 values, .* found 2"):
        ContextSet("a", [SAID], [1, 2])
    with pytest.raises(ContextError, match=r"verb: expected 1 values, .* found 0"):
        ContextSet("a", [SAID], [1], {"verb": []})
    with pytest.raises(ContextError, match=r"extra\.verb: expected a list of texts"):
        ContextSet("a", [SAID], [1], {"verb": [3]})  # type: ignore[list-item]  # wrong on purpose
    with pytest.raises(ContextError, match="a new column name, found 'count'"):
        ContextSet("a", [SAID], [1], {"count": ["3"]})
    with pytest.raises(ContextError, match="expected a name"):
        ContextSet("", [SAID], [1])
    with pytest.raises(ContextError, match="expected a finite sum"):
        ContextSet("a", [SAID, FELT], [1.7e308, 1.7e308])


def test_top_is_sorted_with_ties_by_alphabet() -> None:
    top = THREE.top(2)
    assert top.templates == (SAID, FELT)
    assert top.extra == {"verb": ("say", "feel")}
    assert top.metadata.top == TopRecord(n=2, source=THREE.sha256)
    assert THREE.top(99).templates == (SAID, FELT, SAW)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3"])
def test_invalid_sample_sizes_are_refused(n: int) -> None:
    with pytest.raises(ContextError, match="draw: n: expected a whole number of at least 1"):
        THREE.draw(n, seed=0)
    with pytest.raises(ContextError, match="top: n: expected a whole number of at least 1"):
        THREE.top(n)


def test_invalid_seeds_are_refused() -> None:
    with pytest.raises(ContextError, match="seed: "):
        THREE.draw(1, seed=-1)


def test_sampling_all_or_more_returns_the_set_itself() -> None:
    assert THREE.draw(3, seed=0) is THREE
    assert THREE.draw(10, seed=0) is THREE


def test_a_sample_records_its_origin() -> None:
    drawn = THREE.draw(2, seed=7)
    about = drawn.metadata.drawn
    assert about == DrawRecord(
        n=2,
        seed=7,
        source=THREE.sha256,
        design="priority",
        noise=drawn.sampling.set_noise,
        corpus_noise=THREE.sampling.corpus_noise,
    )
    assert drawn.sampling.set_noise > 0
    generator = THREE.draw(2, seed=np.random.default_rng(7))
    assert (generator.templates, generator.counts) == (drawn.templates, drawn.counts)
    assert generator.metadata.drawn is not None
    assert generator.metadata.drawn.seed is None


def test_samples_stand_for_the_whole_set() -> None:
    """What contexts stand for is right on average, for 1/rank counts; 400 samples of 20 of 100."""
    contexts = set_of({f"verb{i}": 1000 / (i + 1) for i in range(100)})
    place = {template: i for i, template in enumerate(contexts.templates)}
    total = np.zeros((400, 100))
    for seed in range(400):
        drawn = contexts.draw(20, seed=seed)
        total[seed, [place[t] for t in drawn.templates]] = drawn.counts
    error = total.std(axis=0) / 20
    gap = total.mean(axis=0) - np.array(contexts.counts)
    certain = error < 1e-9
    assert certain.any()  # the heaviest are in every sample, with their own count
    assert np.abs(gap[certain]).max() < 1e-9
    assert np.abs(gap[~certain] / error[~certain]).max() < 4.5  # 100 standard normals


def test_the_noise_of_a_sample_is_the_error_of_its_means() -> None:
    """E (mean of the sample - mean of the set)² = noise × variance of the values."""
    rng = np.random.default_rng(0)
    contexts = set_of({f"verb{i}": 1000 / (i + 1) for i in range(100)})
    place = {template: i for i, template in enumerate(contexts.templates)}
    squares, expected = [], []
    for seed in range(1500):
        x = rng.normal(size=100)
        drawn = contexts.draw(20, seed=seed)
        mean = drawn.weights @ x[[place[t] for t in drawn.templates]]
        squares.append((mean - contexts.weights @ x) ** 2)
        expected.append(drawn.sampling.set_noise)
    assert np.mean(squares) == pytest.approx(np.mean(expected), rel=0.1)  # error of 1,500: 4 %


def test_articles_are_draws_of_the_corpus() -> None:
    counts, articles = [6, 3, 1], ["2", "3", "1"]
    mined = ContextSet("mined", THREE.templates, counts, extra={"articles": articles})
    assert mined.sampling.corpus_noise == pytest.approx((36 / 2 + 9 / 3 + 1) / 100)
    plain = ContextSet("mined", THREE.templates, counts, extra={"articles": ["a", "b", "c"]})
    assert plain.sampling.corpus_noise == pytest.approx(1 / 10)
    assert ContextSet("w", THREE.templates, [0.5, 1, 2]).sampling.corpus_noise is None


@given(rows, st.integers(1, 40), st.integers(0, 2**32))
def test_a_sample_has_n_contexts(verb_counts: dict[str, float], n: int, seed: int) -> None:
    contexts = set_of(verb_counts)
    drawn = contexts.draw(n, seed=seed)
    assert drawn == contexts.draw(n, seed=seed)
    assert set(drawn.templates) <= set(contexts.templates)
    if n < len(contexts):
        assert len(drawn) == n
    else:
        assert drawn is contexts


@given(rows, st.integers(0, 100), st.randoms(use_true_random=False))
def test_order_changes_nothing(verb_counts: dict[str, float], seed: int, random: Random) -> None:
    items = list(verb_counts.items())
    random.shuffle(items)
    one, other = set_of(verb_counts), set_of(dict(items))
    assert one.sha256 == other.sha256
    n = max(1, len(one) - 1)
    a, b = one.draw(n, seed=seed), other.draw(n, seed=seed)
    assert dict(zip(a.templates, a.counts, strict=True)) == dict(
        zip(b.templates, b.counts, strict=True)
    )


@given(rows.filter(lambda r: len(r) > 2), st.integers(0, 100))
def test_a_larger_sample_contains_the_smaller(verb_counts: dict[str, float], seed: int) -> None:
    contexts = set_of(verb_counts)
    n = len(contexts) - 1
    small, large = contexts.draw(n - 1, seed=seed), contexts.draw(n, seed=seed)
    assert set(small.templates) <= set(large.templates)


@given(rows)
def test_weights_sum_to_one_and_n_eff_is_between_one_and_n(verb_counts: dict[str, float]) -> None:
    contexts = set_of(verb_counts)
    assert contexts.weights.sum() == pytest.approx(1)
    assert 1 - 1e-9 <= contexts.n_eff <= len(contexts) + 1e-9


def test_sets_can_be_pickled_and_hashed() -> None:
    assert pickle.loads(pickle.dumps(THREE)) == THREE  # noqa: S301
    assert len({THREE, THREE.top(3), THREE.top(1)}) >= 2


def test_repr_is_short() -> None:
    assert repr(THREE) == "ContextSet('three', 3 contexts, n_eff 2.7)"
