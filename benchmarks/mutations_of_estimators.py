"""Mutations of what is estimated, read from replies and said: wrong but plausible edits."""

from __future__ import annotations

from benchmarks.mutation import Mutation

ESTIMATORS: tuple[Mutation, ...] = ()
