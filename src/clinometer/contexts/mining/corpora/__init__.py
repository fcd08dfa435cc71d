"""Corpora in all common formats, streamed as articles."""

from clinometer.contexts.mining.corpora.sources import Source, articles, find_sources

__all__ = ["Source", "articles", "find_sources"]
