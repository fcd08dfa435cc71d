"""Sampling: every article of a corpus is as likely as any other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.sampling import sampled


def test_every_article_is_sampled_equally_often(gender: MineSettings) -> None:
    times: Counter[int] = Counter()
    for seed in range(2000):
        chosen = sampled([4, 0, 6], replace(gender, sample=3, seed=seed))
        assert [list(numbers) for numbers in chosen] == [
            sorted(numbers) for numbers in chosen
        ]
        times.update([*chosen[0], *(4 + n for n in chosen[2])])
    assert sorted(times) == list(range(1, 11))
    # 600 expected each; the standard deviation is sqrt(2000 × 0.3 × 0.7) = 20.5.
    assert all(abs(n - 600) < 5 * 20.5 for n in times.values())
