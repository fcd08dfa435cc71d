"""Precision and recall of the miner's coreference decision on annotated text.

    python benchmarks/coreference.py ../shared/data/parsing            # GUM dev and GAP
    python benchmarks/coreference.py ../shared/data/parsing --errors   # with every wrong pair
    python benchmarks/coreference.py ../shared/data/parsing --gap development   # while tuning

GUM (dev documents, parses and coreference by hand): the miner's own parser reads the annotated
words; a pair (subject, he or she) that it accepts is right when both stand in mentions of one
entity. Recall is over all he/she that have an earlier mention of their entity as a subject in the
same sentence (by GUM's own parse). GAP (Wikipedia, pronouns with two candidate names): accepted
pairs whose subject is one of the two names; once for he and she, once for the possessives his and
her. A pair is accepted if its confidence is at least the miner's default, or --min-confidence; with
--templates, only if a template is made of it: the gate drops some of what the links let pass.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clinometer.contexts.mining.languages import Dropped, Parsed, SpacyParser
from clinometer.contexts.mining.languages.english.confidence import facts_of
from clinometer.contexts.mining.languages.english.language import English
from clinometer.contexts.mining.languages.english.links import (
    Link,
    clause_link,
    word_link,
)
from clinometer.contexts.mining.languages.english.parser import open_parser
from clinometer.contexts.mining.languages.english.vocabulary import (
    POSSESSIVES,
    SUBJECT_PRONOUNS,
)
from clinometer.contexts.mining.languages.parses import LATER
from clinometer.contexts.mining.settings import MIN_CONFIDENCE, MineSettings
from clinometer.topics import load_topic

TOPIC = load_topic("gender")
PERSONS = frozenset(TOPIC.group_names)


@dataclass
class Sentence:
    words: list[str]
    spaces: list[bool]
    relations: list[str]
    heads: list[int]
    entities: list[set[str]] = field(default_factory=list)
    spans: list[tuple[str, int, int]] = field(default_factory=list)


def gum(folder: Path) -> Iterator[Sentence]:
    """The sentences of the dev split, each word with the entities whose mentions cover it."""
    documents: dict[str, list[Sentence]] = {}
    for block in (folder / "gum-dev.conllu").read_text(encoding="utf-8").split("\n\n"):
        rows = [
            line.split("\t") for line in block.splitlines() if line and line[0] != "#"
        ]
        name = re.search(r"^# newdoc id = (\S+)", block, flags=re.M)
        if name:
            documents[name[1]] = []
        rows = [row for row in rows if row[0].isdigit()]
        if rows:
            documents[list(documents)[-1]].append(
                Sentence(
                    [row[1] for row in rows],
                    ["SpaceAfter=No" not in row[9] for row in rows],
                    [row[7] for row in rows],
                    [int(row[6]) - 1 for row in rows],
                )
            )
    for name, sentences in documents.items():
        path = folder / "coref_dev" / f"{name}.conll"
        lines = path.read_text(encoding="utf-8").splitlines()
        marks = [line.split("\t")[2] for line in lines if line and line[0] != "#"]
        if len(marks) != sum(len(s.words) for s in sentences):
            raise SystemExit(f"{path}: words differ from gum-dev.conllu")
        position = 0
        opened: list[tuple[str, int]] = []
        for sentence in sentences:
            sentence.entities = [set() for _ in sentence.words]
            for i in range(len(sentence.words)):
                for entity, opens, closes in mentions(marks[position + i]):
                    if opens:
                        opened.append((entity, i))
                    if closes:
                        at = max(k for k, (e, _) in enumerate(opened) if e == entity)
                        _, begin = opened.pop(at)
                        sentence.spans.append((entity, begin, i))
                        for j in range(begin, i + 1):
                            sentence.entities[j].add(entity)
            position += len(sentence.words)
            yield sentence


def parse_words(
    parser: SpacyParser, sentences: Iterable[list[str]]
) -> Iterator[Parsed]:
    """Parse sentences that are already tokenised, as in annotated corpora."""
    from spacy.tokens import Doc

    names = parser.nlp.get_pipe("ner") if parser.nlp.has_pipe("ner") else None
    docs = (Doc(parser.nlp.vocab, words=words) for words in sentences)
    unused = [name for name in parser.nlp.pipe_names if name in LATER]
    for doc in parser.nlp.pipe(docs, batch_size=64, disable=unused):
        yield Parsed(doc, names)


def mentions(mark: str) -> Iterator[tuple[str, bool, bool]]:
    """(person-3-Name) opens and closes, (person-3-Name opens, person-3-Name) closes."""
    if mark == "_":
        return
    for piece in re.findall(r"\([^()]+\)?|[^()]+\)", mark):
        entity = re.search(r"([a-z]+)-(\d+)", piece)
        if entity:
            yield entity[2], piece[0] == "(", piece[-1] == ")"


def mined(parsed: Parsed, least: float) -> set[int]:
    """The places of the words that become [Y] in a template."""
    english = English(MineSettings(topic=TOPIC, min_confidence=least))
    decisions = english.decide_parsed(parsed)
    found = (
        re.search(r"\[Y\]=\S+?@(\d+)", d.evidence) for d in decisions if d.template
    )
    return {int(place[1]) for place in found if place}


def accepted(
    parsed: Parsed, least: float, words: Container[str], *, templates: bool = False
) -> Iterator[Link]:
    """The pairs that the miner takes for one person."""
    places = mined(parsed, least) if templates else set(range(len(parsed.doc)))
    for token in parsed.doc:
        if token.i not in places:
            continue
        if token.i and token.lower_ in words:
            try:
                if token.lower_ in SUBJECT_PRONOUNS:
                    link = clause_link(token)
                elif token.dep_ == "poss":
                    link = word_link(token)
                else:
                    continue
                found = facts_of(link, parsed, PERSONS)
            except Dropped:
                continue
            if found.confidence >= least:
                yield link


def measure_gum(
    parser: SpacyParser,
    folder: Path,
    errors: list[str],
    least: float = MIN_CONFIDENCE,
    *,
    templates: bool = False,
) -> dict[str, object]:
    sentences = list(gum(folder))
    right = wrong = found = wanted = 0
    parsed = parse_words(parser, [s.words for s in sentences])
    for sentence, one in zip(sentences, parsed, strict=True):
        pairs = accepted(one, least, SUBJECT_PRONOUNS, templates=templates)
        links = {link.y.i: link for link in pairs}
        for i, word in enumerate(sentence.words):
            if i and word.lower() in SUBJECT_PRONOUNS and subject_mention(sentence, i):
                wanted += 1
                found += i in links
        for link in links.values():
            s, y = link.subject.i, link.y.i
            if head_entities(sentence, s) & sentence.entities[y]:
                right += 1
            else:
                wrong += 1
                errors.append(
                    f"{link.subject}@{s} {link.y}@{y}: {' '.join(sentence.words)}"
                )
    return scores(right, wrong, found, wanted)


def head_entities(sentence: Sentence, i: int) -> set[str]:
    """The entities of the mentions whose head is word i, not of those it is only a part of."""
    found = set()
    for entity, begin, end in sentence.spans:
        if begin <= i <= end and not begin <= sentence.heads[i] <= end:
            found.add(entity)
    return found or sentence.entities[i]


def subject_mention(sentence: Sentence, y: int) -> bool:
    mine = sentence.entities[y]
    for entity, begin, end in sentence.spans:
        if entity in mine and end < y:
            for i in range(begin, end + 1):
                outside = not begin <= sentence.heads[i] <= end
                if outside and sentence.relations[i].startswith("nsubj"):
                    return True
    return False


def measure_gap(
    parser: SpacyParser,
    folder: Path,
    errors: list[str],
    split: str = "*",
    least: float = MIN_CONFIDENCE,
    words: Container[str] = SUBJECT_PRONOUNS,
    *,
    templates: bool = False,
) -> dict[str, object]:
    right = wrong = found = wanted = 0
    for path in sorted(folder.glob(f"gap-{split}.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        rows = [r for r in rows if r["Pronoun"].lower() in words]
        cut = [around(r["Text"], int(r["Pronoun-offset"])) for r in rows]
        for row, (_, begin), one in zip(
            rows, cut, parser.parse(text for text, _ in cut), strict=True
        ):
            at = int(row["Pronoun-offset"]) - begin
            names = {}
            for name in "AB":
                start = int(row[f"{name}-offset"]) - begin
                if 0 <= start < at:
                    names[name] = (start, start + len(row[name]))
            wanted += any(row[f"{n}-coref"].upper() == "TRUE" for n in names)
            for link in accepted(one, least, words, templates=templates):
                if link.y.idx != at:
                    continue
                for name, (start, end) in names.items():
                    if start <= link.subject.idx < end:
                        good = row[f"{name}-coref"].upper() == "TRUE"
                        right += good
                        found += good
                        wrong += not good
                        if not good:
                            errors.append(
                                f"GAP {link.subject} {link.y}: {one.doc.text}"
                            )
    return scores(right, wrong, found, wanted)


def around(text: str, at: int) -> tuple[str, int]:
    """The sentence that holds a character, and where it begins."""
    begin = max(
        (m.end() for m in re.finditer(r"[.!?][\"']?\s+(?=[A-Z])", text[:at])), default=0
    )
    end = re.search(r"[.!?](?=\s+[A-Z]|\s*$)", text[at:])
    return text[begin : at + end.end() if end else len(text)], begin


def scores(right: int, wrong: int, found: int, wanted: int) -> dict[str, object]:
    total = right + wrong
    return {
        "accepted": total,
        "right": right,
        "precision": round(right / total, 4) if total else None,
        "wanted": wanted,
        "recall": round(found / wanted, 4) if wanted else None,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument(
        "folder", type=Path, help="the folder that holds gum/ and gap/"
    )
    arguments.add_argument(
        "--errors", action="store_true", help="print every wrong pair"
    )
    arguments.add_argument(
        "--gap", default="*", help="development, validation or test; all without it"
    )
    arguments.add_argument("--min-confidence", type=float, default=MIN_CONFIDENCE)
    arguments.add_argument(
        "--templates", action="store_true", help="only what becomes a template"
    )
    options = arguments.parse_args()
    least, templates = options.min_confidence, options.templates
    gap = options.folder / "gap"
    parser = open_parser()
    errors: list[str] = []
    result = {
        "parser": f"{parser.name} {parser.version}",
        "gum_dev": measure_gum(
            parser, options.folder / "gum", errors, least, templates=templates
        ),
        "gap": measure_gap(
            parser, gap, errors, options.gap, least, templates=templates
        ),
        "gap_possessive": measure_gap(
            parser, gap, errors, options.gap, least, POSSESSIVES, templates=templates
        ),
    }
    if options.errors:
        print("\n".join(errors))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
