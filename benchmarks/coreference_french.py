"""Precision of the French links on fr-litbank: python benchmarks/coreference_french.py FOLDER

FOLDER is `brat/coref` of github.com/lattice-8094/fr-litbank (CC BY-SA): .txt files with .ann files
that mark mentions and which of them corefer. A link counts as right if [X] and [Y] are mentions of
one chain. Only the text up to the last mention is read: most texts are annotated in part. Accepted
links in which [X] or [Y] is marked as no mention are counted apart (`unmarked`) and printed with
the wrong ones: il pleut, but also many a pronoun that the annotators passed over.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.languages.french.grammar import (
    PRONOUNS,
    find_link,
    french_template,
    listed,
    may_link,
)
from clinometer.contexts.mining.languages.french.language import French
from clinometer.contexts.mining.languages.shared import Dropped, split_sentences
from clinometer.topics import load_topic

_MENTION = re.compile(r"^(T\d+)\t\S+ (\d+) (\d+)\t")
_LINK = re.compile(r"^R\d+\tCoreference Arg1:(T\d+) Arg2:(T\d+)")
_PRONOUN = re.compile(r"\b(?:il|elle)\b", re.IGNORECASE)


class Gold:
    """Mentions of one text and their chains."""

    def __init__(self, annotations: str) -> None:
        self.mentions: list[tuple[int, int, str]] = []
        self._chain: dict[str, str] = {}
        for line in annotations.splitlines():
            if match := _MENTION.match(line):
                self.mentions.append((int(match[2]), int(match[3]), match[1]))
        for line in annotations.splitlines():
            if match := _LINK.match(line):
                one, other = self._root(match[1]), self._root(match[2])
                if one != other:  # a chain may be closed: its own root would never be reached
                    self._chain[one] = other

    def _root(self, name: str) -> str:
        while name in self._chain:
            name = self._chain[name]
        return name

    def chain(self, at: int) -> str | None:
        """The chain of the shortest mention at a position."""
        found = [(end - begin, name) for begin, end, name in self.mentions if begin <= at < end]
        return self._root(min(found)[1]) if found else None


def candidates(text: str) -> Iterator[tuple[int, str]]:
    """Start and text of the sentences that reach the parser."""
    for begin, end in split_sentences(text, listed("abbreviations")):
        sentence = text[begin:end]
        if any(may_link(sentence[: match.start()]) for match in _PRONOUN.finditer(sentence)):
            yield begin, sentence


def main(folder: Path) -> None:
    french = French(MineSettings(topic=load_topic("gender-fr")))
    found: Counter[str] = Counter()
    for path in sorted(folder.glob("*.txt")):
        gold = Gold(path.with_suffix(".ann").read_text(encoding="utf-8"))
        end = max(end for _, end, _ in gold.mentions)
        text = path.read_text(encoding="utf-8")[:end].replace("’", "'")
        starts, sentences = zip(*candidates(text), strict=True)
        for begin, parsed in zip(starts, french.parser.parse(sentences), strict=True):
            for y in parsed.doc:
                if not y.i or y.lower_ not in PRONOUNS:
                    continue
                found["pronouns"] += 1
                try:
                    link = find_link(y, parsed, frozenset())
                    template = french_template(link, frozenset())
                except Dropped:
                    continue
                found["accepted"] += 1
                chains = [gold.chain(begin + token.idx) for token in (y, link.subject)]
                verdict = "right" if chains[0] == chains[1] else "wrong"
                verdict = "unmarked" if None in chains else verdict
                found[verdict] += 1
                if verdict != "right":
                    print(f"{verdict}: {template}  <<  {parsed.doc.text[:150]}", file=sys.stderr)
    marked = found["right"] + found["wrong"]
    print(json.dumps({**found, "precision": found["right"] / max(1, marked)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
