"""Corpora in all common formats: list the files and stream their articles.

A place is a file (.txt, .jsonl, a Wikipedia dump .xml, each also as .gz, .zst, .bz2 or .xz;
.parquet, .zip), a member of a zip file (calls.zip:switchboard/transcript), or a folder of these.
Nothing is ever loaded whole. Damaged articles are counted and skipped; a source without a readable
one is an error.
"""

from clinometer.contexts.mining.corpora.reading import articles, raw_articles
from clinometer.contexts.mining.corpora.sources import Source, find_sources

__all__ = ["Source", "articles", "find_sources", "raw_articles"]
