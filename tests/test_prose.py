"""Words and phrases that we do not use, with what to write instead.

Only what is wrong in every sentence is listed. Words that are right in some sentences (part, place,
hold, ask, draw) are left to the reader; docs/glossary.md says what they mean here.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "clinometer"

_THING = (
    "annotator|answer|bar|box|cell|chunk|column|copy|digit|dot|entry|field|file|folder|group|index|"
    "item|judgement|label|line|model|multiplier|name|number|page|part|pixel|point|process|question|"
    "reply|request|row|run|sample|score|section|seed|sentence|subfolder|table|test|text|token|unit|"
    "value|vector|word|worker"
)
_UNIT = "category|context|dataset|difference|statement"
#: pattern -> what to write instead
FORBIDDEN = {
    r"so many(?! (?:that|as))": "n, or this many",
    r"anew": "again",
    r"whatever": "any, or regardless of",
    r"of (?:its|their|our|your|his|her|one's) own": "its own X, a separate X",
    r"lest": "so that … not",
    r"(?:some|every|any|no)body(?:'s)?": "someone, or name the thing",
    r"at hand": "available (locally)",
    r"opening tokens?": "BOS token",
    r"beginnings? of (?:a|the) (?:prompt|text|sentence)s?|shared beginnings?": "prefix",
    r"(?:go|goes|went) on(?! to| and)": "resume, or continue",
    r"(?<!cannot be )told(?! (?:apart|from))": "returned, or known",
    r"better asked": "retry later",
    r"(?:is|are) asked (?:in|by) \d+ bits?": "runs in float32",
    r"who (?:gave|scored|holds?|computed) (?:it|them)": "the model that produced them",
    r"mended": "fixed",
    rf"(?:a|an|one) (?:{_THING}) an? (?:{_THING}|{_UNIT})": "one X per Y",
    r"(?<!here )(?:is|are|was|were) (?-i:none)(?! of)": "is not one, or does not exist",
}
_PATTERNS = [
    (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), instead)
    for pattern, instead in FORBIDDEN.items()
]
#: Files whose text is not ours: word lists, and the wording of instruments and sources.
DATA = ("lexicon*.toml", "*.source.toml")


_EXAMPLE = re.compile(r"`[^`\n]*`|“[^”\n]*”|\{%.*?%\}")


def test_source_texts() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 200
    found = [line for file in files for line in _faults(file, _python_texts(file))]
    assert not found, "\n".join(found)


def test_pages_and_data_files() -> None:
    files = [
        file
        for ending in ("html", "js", "css", "md", "toml")
        for file in sorted(SOURCE.rglob(f"*.{ending}"))
        if not any(file.match(name) for name in DATA)
    ]
    assert len(files) > 20
    found = [line for file in files for line in _faults(file, _lines(file))]
    assert not found, "\n".join(found)


def test_documentation() -> None:
    docs = [p for p in sorted((ROOT / "docs").rglob("*.md")) if "generated" not in p.parts]
    files = [*docs, *sorted(ROOT.glob("*.md"))]
    assert len(files) > 15
    found = [line for file in files for line in _faults(file, _lines(file))]
    assert not found, "\n".join(found)


def test_names_of_tests() -> None:
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert len(files) > 200
    found = [line for file in files for line in _faults(file, _test_names(file))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "Draw so many contexts by weight",
        "a row a statement",
        "one folder a model under it",
        "opened anew",
        "in a thread of its own",
        "whatever the server's habits",
        "lest it vanish",
        "Somebody who can be asked",
        "Print how far everybody is",
        "models at hand",
        "the opening token",
        "An audit that was interrupted goes on with the same command",
        "if it is not told rightly",
        "is better asked tomorrow",
        "are asked in 32 bits",
        "Scores of a block, and who gave them.",
        "What that showed and is mended:",
        "a number that is none",
    ],
)
def test_former_sentences_are_found(text: str) -> None:
    assert list(_faults(ROOT / "x.py", [(1, text)]))


def _faults(file: Path, texts: Iterable[tuple[int, str]]) -> Iterator[str]:
    """file:line: "phrase": what to write instead. Examples in `code` or “quotes” are not prose."""
    for start, quoted in texts:
        text = _EXAMPLE.sub(lambda m: "_" * len(m[0]), quoted)
        for pattern, instead in _PATTERNS:
            for match in pattern.finditer(text):
                line = start + text.count("\n", 0, match.start())
                yield f'{file.relative_to(ROOT)}:{line}: "{match[0]}": write {instead}'


def _python_texts(file: Path) -> Iterator[tuple[int, str]]:
    """Comments, and strings of more than one word; a single word may be data."""
    with io.StringIO(file.read_text("utf-8")) as stream:
        for token in tokenize.generate_tokens(stream.readline):
            is_text = token.type == tokenize.COMMENT or (
                token.type in _STRINGS and " " in token.string.strip()
            )
            if is_text:
                yield token.start[0], token.string


#: From Python 3.12 on the texts of f-strings are tokens of another type.
_STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def _test_names(file: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.replace("_", " ")


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    yield from enumerate(file.read_text("utf-8").splitlines(), start=1)
