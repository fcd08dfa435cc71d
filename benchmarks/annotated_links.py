"""Links of the English miner in annotated text: what they rest on, and whether they are right.

GAP says whether he, she, his or her refers to one of two names; GUM and LitBank annotate whole
documents, so that links from pronouns (he … he) can be judged as well. A case is a pair of subject
and pronoun that the rules do not forbid.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.coreference import PERSONS, Sentence, around, head_entities

from clinometer.contexts.mining.languages.english.coreference import LinkFacts, facts_of
from clinometer.contexts.mining.languages.english.grammar import (
    POSSESSIVES,
    SUBJECT_PRONOUNS,
    Link,
    Parsed,
    Parser,
    clause_link,
    word_link,
)
from clinometer.contexts.mining.languages.shared import Dropped

_PRONOUNS = frozenset(SUBJECT_PRONOUNS | POSSESSIVES)


@dataclass(frozen=True)
class Case:
    """source: gap, gum or litbank; document: the unit of cross-validation."""

    source: str
    document: str
    facts: LinkFacts
    right: bool


def links(parsed: Parsed) -> Iterator[tuple[Link, LinkFacts]]:
    """The links that the rules do not forbid."""
    for token in parsed.doc:
        clause = token.lower_ in SUBJECT_PRONOUNS
        if not token.i or not (clause or (token.lower_ in POSSESSIVES and token.dep_ == "poss")):
            continue
        try:
            link = clause_link(token) if clause else word_link(token)
            yield link, facts_of(link, parsed, PERSONS)
        except Dropped:
            continue


def gap_cases(parser: Parser, path: Path) -> Iterator[Case]:
    """The links of GAP's pronouns whose subject is one of its two names."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = [row for row in rows if row["Pronoun"].lower() in _PRONOUNS]
    cut = [around(row["Text"], int(row["Pronoun-offset"])) for row in rows]
    parsed = parser.parse(text for text, _ in cut)
    for row, (_, begin), one in zip(rows, cut, parsed, strict=True):
        at = int(row["Pronoun-offset"]) - begin
        for link, facts in links(one):
            for name in "AB" if link.y.idx == at else "":
                start = int(row[f"{name}-offset"]) - begin
                if 0 <= start <= link.subject.idx < start + len(row[name]) and start < at:
                    yield Case("gap", row["URL"], facts, row[f"{name}-coref"].upper() == "TRUE")


def document_cases(parser: Parser, source: str, path: Path) -> Iterator[Case]:
    """The links of one document of GUM (.conllu) or LitBank (.conll)."""
    wanted = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line and line[0] != "#"]
        sentence = _gum(rows) if source == "gum" else _litbank(rows)
        if not _PRONOUNS.isdisjoint(word.lower() for word in sentence.words):
            wanted.append(sentence)
    parsed = parser.parse_words([sentence.words for sentence in wanted])
    for sentence, one in zip(wanted, parsed, strict=True):
        if not sentence.heads:
            sentence.heads = [t.head.i if t.head.i != t.i else -1 for t in one.doc]
        for link, facts in links(one):
            meant = {e for e, begin, end in sentence.spans if begin == end == link.y.i}
            if meant:
                right = bool(head_entities(sentence, link.subject.i) & meant)
                yield Case(source, path.stem, facts, right)


def _gum(rows: list[list[str]]) -> Sentence:
    rows = [row for row in rows if row[0].isdigit()]
    marks = [re.search(r"Entity=([^|]*)", row[9]) for row in rows]
    pieces = [re.findall(r"\([^()]+\)?|[^()]+\)", mark[1]) if mark else [] for mark in marks]
    heads = [int(row[6]) - 1 for row in rows]
    return _with_mentions([row[1] for row in rows], heads, pieces)


def _litbank(rows: list[list[str]]) -> Sentence:
    pieces = [[p for p in row[-1].split("|") if re.search(r"\d", p)] for row in rows]
    return _with_mentions([row[3] for row in rows], [], pieces)


def _with_mentions(words: list[str], heads: list[int], pieces: list[list[str]]) -> Sentence:
    """The mentions within a sentence: "(3" opens, "3)" closes, "(3)" does both."""
    sentence = Sentence(words, [True] * len(words), [], heads, [set() for _ in words])
    opened: list[tuple[str, int]] = []
    for i, marks in enumerate(pieces):
        for mark in marks:
            entity = re.findall(r"\d+", mark)[0]
            if mark[0] == "(":
                opened.append((entity, i))
            at = [k for k, (other, _) in enumerate(opened) if other == entity]
            if mark[-1] == ")" and at:
                _, begin = opened.pop(at[-1])
                sentence.spans.append((entity, begin, i))
                for word in sentence.entities[begin : i + 1]:
                    word.add(entity)
    return sentence
