"""Walking the tree of words: what is left out, and how far that can move a preference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from clinometer.models.protocol import WordScores
from clinometer.models.scoring.chain_rule import MOST_MASS, expand
from clinometer.models.tokens import Tokens, Trie
from clinometer.statistics.arrays import BoolArray, FloatArray

World = dict[Tokens, FloatArray]

HER, S, HIM = 1, 2, 3
HERS = [(HER,), (HER, S), (HIM,)]


def answer(
    trie: Trie, worlds: Sequence[World], asked: BoolArray, seen: set[tuple[Tokens, int]]
) -> FloatArray:
    """What follows the nodes that are asked about, one world for each prompt; notes which."""
    found = np.full(asked.shape, -np.inf)
    pairs = np.argwhere(asked).tolist()
    assert len({len(trie.prefix[n]) for n, _ in pairs}) <= 1  # models need one depth
    for n, i in pairs:
        seen.add((trie.prefix[n], i))
        with np.errstate(divide="ignore"):
            found[list(trie.children[n]), i] = np.log(worlds[i][trie.prefix[n]])
    return found


def scored(
    trie: Trie, worlds: Sequence[World], counts: FloatArray | None, tolerance: float
) -> tuple[WordScores, set[tuple[Tokens, int]]]:
    """The scores of some worlds, one per prompt, and which nodes were asked for which of them."""
    seen: set[tuple[Tokens, int]] = set()

    def ask(asked: Sequence[BoolArray]) -> list[FloatArray]:
        return [answer(trie, worlds, asked[0], seen)]

    return expand([trie], len(worlds), ask, tolerance=tolerance, counts=counts), seen


def asked(first: float, second: float, tolerance: float) -> WordScores:
    """One prompt: p(her…) = first, p(him) = 1 - first, p(s | her) = second."""
    world = {(): np.array([first, 1 - first]), (HER,): np.array([second])}
    return scored(Trie.of(HERS), [world], None, tolerance)[0]


@pytest.mark.parametrize("second", [0.0, 0.3, 1.0])
def test_the_bound_holds_when_a_skipped_word_extends_one_of_another_category(
    second: float,
) -> None:
    """All of "her" may be "hers": its mass then moves between the categories, and M stays."""
    exact = np.exp(asked(0.001, second, 0.0).log_probs[0])
    quick = asked(0.001, second, 0.002)
    near = np.exp(quick.log_probs[0])
    assert quick.skipped[0] == pytest.approx(0.001)
    bound = quick.skipped[0] / np.exp(quick.log_coverage[0])
    moved = abs(exact[1] / exact.sum() - near[1] / near.sum())
    assert moved <= bound + 1e-15
    assert moved == pytest.approx(0.001 * second)


#: one token, several under one prefix, words that begin another, three tokens
WORDS: list[Tokens] = [(1,), (2,), (3,), (1, 4), (3, 4)]
WORDS += [(5, 6), (5, 7), (5, 7, 8), (9, 1, 2), (9, 3)]
MALE, FEMALE, BOTH, NEITHER = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (0.0, 0.0)
TWO = np.array([MALE, FEMALE, MALE, MALE, FEMALE, MALE, FEMALE, MALE, BOTH, FEMALE])


def some_world(trie: Trie, rng: np.random.Generator, *, extreme: bool = False) -> World:
    """What follows each node: shares of its children and of everything else. Prefixes of words that
    are no words themselves are rare, as they are in text."""
    world = {}
    for node in trie.inner:
        n = len(trie.children[node])
        share = rng.dirichlet(np.full(n + 1, 0.05 if extreme else 0.5))[:n]
        if node == 0:
            words = [trie.prefix[c] in WORDS for c in trie.children[0]]
            share = share * np.where(words, 1.0, 10.0 ** rng.uniform(-6, -1, n))
        world[trie.prefix[node]] = share
    return world


def preferences(trie: Trie, world: World, counts: FloatArray) -> FloatArray:
    """By definition: a word is its tokens' product less the longer words', one by one."""

    def mass(tokens: Tokens) -> float:
        total = 1.0
        for k in range(len(tokens)):
            node = tokens[:k]
            place = trie.child_tokens(trie.prefix.index(node)).index(tokens[k])
            total *= float(world[node][place])
        return total

    own = []
    for word in WORDS:
        longer = [w for w in WORDS if len(w) > len(word) and w[: len(word)] == word]
        nearest = [
            w for w in longer if not any(v != w and w[: len(v)] == v for v in longer)
        ]
        own.append(mass(word) - sum(map(mass, nearest)))
    categories = np.array(own) @ counts
    return np.asarray(categories / categories.sum())


def counted(scores: WordScores, counts: FloatArray) -> FloatArray:
    """Preferences [P, Y] from scores."""
    categories = np.exp(scores.log_probs) @ counts
    return np.asarray(categories / categories.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("tolerance", [1e-4, 1e-3, 0.02])
@pytest.mark.parametrize("kind", ["two", "dropped", "three"])
def test_no_world_that_agrees_is_beyond_the_bound(kind: str, tolerance: float) -> None:
    """What was not asked is drawn anew, 20 times for each of 40 prompts."""
    rng = np.random.default_rng([len(kind), int(1 / tolerance)])
    counts = {
        "two": TWO.copy(),
        "dropped": np.where(rng.random((10, 1)) < 0.3, NEITHER, TWO),
        "three": np.eye(3)[rng.integers(3, size=10)],
    }[kind]
    counts[:3] = np.eye(counts.shape[1])[[0, 1, 0]]  # he, she, him are always counted
    trie = Trie.of(WORDS)
    worlds = [some_world(trie, rng) for _ in range(40)]
    scores, asked_nodes = scored(trie, worlds, counts, tolerance)
    bounds = scores.skipped / np.exp(scores.log_coverage)
    assert (bounds <= tolerance * (1 + 1e-9)).all()
    assert (bounds > 0).any()

    estimates = counted(scores, counts)
    largest_share_of_bound = 0.0
    for i, world in enumerate(worlds):
        for extreme in [False, True] * 10:
            agreeing_world = some_world(trie, rng, extreme=extreme)
            for node in world:
                if (node, i) in asked_nodes:
                    agreeing_world[node] = world[node]
            errors = np.abs(preferences(trie, agreeing_world, counts) - estimates[i])
            assert errors.max() <= bounds[i] + 1e-12
            if bounds[i] > 0:
                share_of_bound = errors.max() / bounds[i]
                largest_share_of_bound = max(largest_share_of_bound, share_of_bound)
    assert largest_share_of_bound > 0.5  # some world comes near: the bound is not idle


@pytest.mark.parametrize("tolerance", [1e-4, 1e-3, 0.02])
def test_knowing_the_categories_asks_less_within_the_same_bound(
    tolerance: float,
) -> None:
    rng = np.random.default_rng(1)
    trie = Trie.of(WORDS)
    worlds = [some_world(trie, rng) for _ in range(100)]
    exact, _ = scored(trie, worlds, TWO, 0.0)
    without_categories, asked_without = scored(trie, worlds, None, tolerance)
    with_categories, asked_with = scored(trie, worlds, TWO, tolerance)
    assert len(asked_with) < len(asked_without)

    truth = counted(exact, TWO)
    by_definition = [preferences(trie, world, TWO) for world in worlds]
    np.testing.assert_allclose(truth, by_definition, atol=1e-12)
    for scores in (without_categories, with_categories):
        bounds = scores.skipped / np.exp(scores.log_coverage)
        errors = np.abs(counted(scores, TWO) - truth).max(axis=1)
        assert (errors <= bounds + 1e-12).all()
        assert (bounds <= tolerance * (1 + 1e-9)).all()

    # Whatever the words are counted for later, little of their mass is missing.
    lost = np.exp(exact.log_probs) - np.exp(with_categories.log_probs)
    missing_mass = np.maximum(lost, 0.0).sum(axis=1)
    most_mass = MOST_MASS * tolerance * np.exp(with_categories.log_coverage)
    assert (missing_mass <= most_mass + 1e-12).all()


def test_a_longer_word_of_the_same_category_is_asked_only_if_it_has_much_mass() -> None:
    """boy, girl, boyfriend: its mass is boy's, whichever of the two it is."""
    trie = Trie.of([(1,), (2,), (1, 3)])
    counts = np.array([MALE, FEMALE, MALE])
    for first, asks in ((0.005, False), (0.5, True)):
        world = {(): np.array([first, 1 - first]), (1,): np.array([0.4])}
        scores, seen = scored(trie, [world], counts, 1e-3)
        assert (((1,), 0) in seen) == asks
        assert scores.skipped[0] == 0.0


def test_several_trees_share_one_tolerance() -> None:
    """A tree for each length, as masked models have them."""
    rng = np.random.default_rng(3)
    words: list[list[Tokens]] = [[(1,), (2,)], [(3, 4), (5, 6), (5, 7)]]
    trees = [Trie.of(some) for some in words]
    counts = np.array([MALE, FEMALE, MALE, FEMALE, BOTH])
    for _ in range(50):
        worlds = [some_world(t, rng) for t in trees]

        def ask(
            asked: Sequence[BoolArray], worlds: list[World] = worlds
        ) -> list[FloatArray]:
            pairs = zip(trees, worlds, asked, strict=True)
            return [answer(tree, [world], nodes, set()) for tree, world, nodes in pairs]

        exact = counted(expand(trees, 1, ask), counts)
        quick = expand(trees, 1, ask, tolerance=0.01, counts=counts)
        bound = quick.skipped / np.exp(quick.log_coverage)
        assert (np.abs(counted(quick, counts) - exact) <= bound + 1e-12).all()
        assert (bound <= 0.01 * (1 + 1e-9)).all()
