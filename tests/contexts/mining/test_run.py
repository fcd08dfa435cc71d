"""A whole mining run: counts, samples, kills, edges, the command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contexts.mining.conftest import assert_same_sets

from clinometer.contexts import load_contexts
from clinometer.contexts.context_set import ArticlesRecord
from clinometer.contexts.mining import MineSettings, corpora, mine, run
from clinometer.contexts.mining.languages.shared import Parsed, SpacyParser
from clinometer.contexts.mining.run import Smallest, priority
from clinometer.contexts.mining.work_folder import SourceCounts, WorkFolder
from clinometer.errors import ContextError, SettingsError
from clinometer.topics import load_topic

Write = Callable[..., Path]


def files(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_counts_and_sidecar_are_written(
    corpus: Write, gender: MineSettings, tmp_path: Path
) -> None:
    why = tmp_path / "why.jsonl"
    contexts = mine([corpus(60)], tmp_path / "c.csv", gender, explain=why)
    count = dict(zip(contexts.templates, contexts.counts, strict=True))
    # Six verbs in turn; said and says are one: 20 of 60, the others 10 each; 60 × because.
    assert count["The [X] left the room because [Y]"] == 60
    assert count["The [X] said that [Y]"] == 20
    assert count["The [X] thought that [Y]"] == count["The [X] knew that [Y]"] == 10
    assert sum(contexts.counts) == 120
    assert load_contexts(tmp_path / "c.csv") == contexts
    about = contexts.metadata
    assert about.articles == ArticlesRecord(read=60, mined=60)
    assert about.sentences_parsed == 120
    assert about.command == "clinometer mine corpus.jsonl --topic gender --sample 10000 --seed 0"
    rows = [json.loads(line) for line in why.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 120
    assert {"sentence", "template", "dropped", "parse", "confidence"} == set(rows[0])
    assert contexts.extra["articles"][0] == "60"
    assert about.min_confidence == gender.min_confidence == 0.87
    assert about.confidences is not None
    assert sum(about.confidences.values()) == 120
    assert about.confidence is not None
    assert set(about.confidence) == set(contexts.ids)
    assert min(about.confidence.values()) >= 0.87
    assert files(tmp_path) == {"corpus.jsonl", "c.csv", "c.json", "why.jsonl"}


def test_several_processes_give_the_same_counts(
    corpus: Write, gender: MineSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = corpus(40)
    one = mine([path], tmp_path / "one.csv", gender, name="same")
    monkeypatch.setattr("clinometer.contexts.mining.run.PIECE", 7)
    two = mine([path], tmp_path / "two.csv", gender, name="same", processes=2)
    assert two == one
    assert_same_sets(tmp_path, "one", "two")


def test_the_progress_of_a_small_corpus_is_seen(
    corpus: Write, gender: MineSettings, tmp_path: Path
) -> None:
    calls: list[tuple[int, int | None]] = []

    def progress(stage: str, done: int, total: int | None) -> None:
        if stage == "parsing":
            calls.append((done, total))

    mine([corpus(15)], tmp_path / "c.csv", gender, progress=progress)  # 30 sentences
    assert calls == [(done, 10) for done in range(11)]


def test_articles_are_counted_once_however_the_work_is_divided(
    corpus: Write, gender: MineSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for near-duplicates: took a job and took the job."""
    said = "The nurse said that she would stay."
    path = corpus(
        0,
        " ".join([said] * 5 + ["The nurse took a job because she was poor."]),
        f"{said} {said} The pilot took the job because he was poor. He said that he was poor.",
        "The nurse took a job because she was poor. The pilot took the job when he left.",
    )
    for piece in (400, 2, 1):
        monkeypatch.setattr(run, "PIECE", piece)
        contexts = mine([path], tmp_path / f"{piece}.csv", gender, name="same")
        rows = zip(contexts.templates, contexts.counts, contexts.extra["articles"], strict=True)
        assert list(rows) == [
            ("The [X] said that [Y]", 8, "2"),
            ("The [X] took a job because [Y]", 3, "3"),
            ("The [X] took the job when [Y]", 1, "1"),
        ]
    assert contexts.sampling.corpus_noise == pytest.approx(
        load_contexts(tmp_path / "400.csv").sampling.corpus_noise
    )
    assert_same_sets(tmp_path, "400", "1")


def test_a_higher_confidence_leaves_fewer_and_surer_links(
    corpus: Write, gender: MineSettings, tmp_path: Path
) -> None:
    path = corpus(
        4,
        "Smith left the office of Jones before he was tired.",
        "He left the room because he was tired.",
    )
    sets = {
        least: mine([path], tmp_path / "c.csv", replace(gender, min_confidence=least))
        for least in (0.0, 0.87, 0.96)
    }
    assert [sum(contexts.counts) for contexts in sets.values()] == [10, 9, 1]
    assert sets[0.87].metadata.dropped["confidence below the minimum"] == 1
    assert "--set min_confidence=0.96" in (sets[0.96].metadata.command or "")


def test_several_topics_share_one_parse(
    corpus: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sets are those of separate runs; topics that need other sentences are refused."""
    path = corpus(
        0,
        "The black nurse, who won a prize, left. A Muslim lawyer lost a coat. The pilot was tall.",
        "Ada Smith is an Indian lawyer. She was born into a Hindu family. She won a prize.",
        "The blind teacher played a role. The teacher sold the house.",
    )
    race, religion = (MineSettings(topic=load_topic(name)) for name in ("race", "religion"))
    both = replace(race, also=(religion.topic,))
    anybody = replace(race, about="any")
    parses: list[str] = []
    real = SpacyParser.parse

    def counted(self: SpacyParser, sentences: Iterable[str]) -> Iterator[Parsed]:
        parses.extend(sentences)
        return real(self, sentences)

    monkeypatch.setattr(SpacyParser, "parse", counted)
    wiki = mine([path], tmp_path / "wiki.csv", both)
    assert len(parses) == len(set(parses)) == wiki.metadata.sentences_parsed
    contexts = mine([path], tmp_path / "both-race.csv", both)
    about = contexts.metadata
    assert (about.topic, about.about) == ("race", "own")
    assert contexts.templates == ("The [X], who won a prize, is [Y]",)
    assert list(contexts.counts) == [2]  # the black nurse, and the subject of the second article
    general = mine([path], tmp_path / "any.csv", anybody)
    assert "The [X], who sold the house, is [Y]" in general.templates
    assert general.metadata.about == "any"
    assert (general.metadata.command or "").endswith("--about any")
    mine([path], tmp_path / "race.csv", race, name="wiki")
    mine([path], tmp_path / "religion.csv", religion, name="wiki-religion")
    mine([path], tmp_path / "alone.csv", religion, name="both-religion")
    assert_same_sets(tmp_path, "wiki", "race")
    assert_same_sets(tmp_path, "wiki-religion", "religion")
    assert_same_sets(tmp_path, "both-religion", "alone")
    with pytest.raises(SettingsError, match="topic 'gender' needs other sentences than 'race'"):
        mine([path], tmp_path / "x.csv", replace(race, also=(load_topic("gender"),)))
    with pytest.raises(SettingsError, match="topic 'tea' needs other sentences than 'race'"):
        mine([path], tmp_path / "x.csv", replace(race, also=(replace(race.topic, name="tea"),)))
    with pytest.raises(SettingsError, match="expected other topics than race"):
        replace(race, also=(race.topic,))


KILLED = """
import os, signal, sys
from clinometer.contexts.mining import MineSettings, mine, run
from clinometer.topics import load_topic
run.PIECE = 6
left = int(sys.argv[3])
def progress(stage, done, total):
    global left
    if stage == "parsing":
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
mine([sys.argv[1]], sys.argv[2], MineSettings(topic=load_topic("gender")), name="same",
     progress=progress)
"""


def test_a_killed_run_resumes_to_the_same_bytes(
    corpus: Write, gender: MineSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = corpus(50)
    mine([path], tmp_path / "whole.csv", gender, name="same")
    killed = tmp_path / "killed.csv"
    for left in (4, 6):  # killed twice, at different places
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), str(killed), str(left)], check=False
        )
        assert done.returncode == -signal.SIGKILL
        assert not killed.exists()
        assert len(list((tmp_path / "killed.csv.mining" / "parts").glob("*.json"))) >= left - 1
    refused = r"killed\.csv: was begun with other settings: seed \(0, now 1\); choose"
    with pytest.raises(ContextError, match=refused):
        mine([path], killed, replace(gender, seed=1), name="same")
    monkeypatch.setattr(run, "PIECE", 6)
    mine([path], killed, gender, name="same")
    assert_same_sets(tmp_path, "whole", "killed")
    assert not (tmp_path / "killed.csv.mining").exists()


def test_sentences_that_were_cut_short_are_not_mined(tmp_path: Path) -> None:
    """At the end of a line, where each of them is still sound; and a full disk is one line."""
    work = WorkFolder(tmp_path / "c.csv")
    with work.opened({}):
        with work.spooling(0) as spool:
            spool.write("[1]\n[2]\n")
        work.write_counts(0, SourceCounts(articles=2, damage={}, spooled=8))
        assert work.read_counts(0) is not None
        work.spool(0).write_text("[1]\n")
        with pytest.raises(ContextError, match="damaged; start over with --fresh"):
            work.read_counts(0)
        with pytest.raises(ContextError, match="cannot be written: No space"), work.spooling(1):
            raise OSError(28, "No space left on device")
        assert not work.spool(1).exists()


def test_the_sample_is_random_seeded_and_of_the_right_size(
    corpus: Write, gender: MineSettings, tmp_path: Path
) -> None:
    path = corpus(60)
    sets = [
        mine([path], tmp_path / f"{n}.csv", replace(gender, sample=20, seed=seed), name="same")
        for n, seed in enumerate((0, 0, 1))
    ]
    for contexts in sets:
        assert contexts.metadata.articles == ArticlesRecord(read=60, mined=20)
        assert sum(contexts.counts) == 40
    assert sets[0] == sets[1]
    assert sets[0].counts != sets[2].counts


def test_every_article_is_sampled_equally_often() -> None:
    times: Counter[int] = Counter()
    for seed in range(2000):
        ranked = sorted(range(10), key=lambda i: priority(seed, 0, i))
        times.update(ranked[:3])
    # 600 expected each; the standard deviation is sqrt(2000 × 0.3 × 0.7) = 20.5.
    assert all(abs(n - 600) < 5 * 20.5 for n in times.values())
    smallest, priorities = Smallest(3), [priority(7, 0, i) for i in range(10)]
    for n, number in enumerate(priorities, start=1):
        assert smallest.add(number) == (number in sorted(priorities[:n])[:3])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected at least one article, found an empty file"),
        (b'{"text": "Nothing of the kind stands here."}\n', "no context found in 1 articles"),
        (b"\0\0\0\0", "binary file"),
        (b'\xff\xff\n{"text": "Nothing here."}\n', "no context found in 1 articles"),
        (b"\xff\xff\n", r"skipped: 1 × read as Windows-1252 \(not valid UTF-8\)"),
        (b'{"body": "He said he left."}\n', "name the right one with --field"),
        (b"\n \n\n", "found an empty file"),
        (b"not json\n" * 5, "skipped: 5 × not valid JSON"),
        ("Text.".encode("utf-16"), "found UTF-16"),
        # The same as 300 MB with 16 MB allowed, in small; benchmarks/mining.py does it in full.
        (
            b'{"text": "' + b"He said he left. " * 200_000 + b'"}',
            "at least one article, found none; skipped: 1 × line longer than",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_failed_run_leaves_no_files_behind(
    gender: MineSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    message: str,
) -> None:
    monkeypatch.setattr(corpora, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(content)
    with pytest.raises(ContextError, match=message) as caught:
        mine([path], tmp_path / "c.csv", gender)
    assert "\n" not in str(caught.value)
    assert files(tmp_path) == {"corpus.jsonl"}


def test_wrong_settings_are_refused(gender: MineSettings, corpus: Write, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="sample: expected a whole number of at least 1"):
        replace(gender, sample=0)
    with pytest.raises(SettingsError, match="links: expected some of clause"):
        replace(gender, links=("words",))
    with pytest.raises(SettingsError, match="strategy: expected one of"):
        replace(gender, strategy="magic")
    with pytest.raises(SettingsError, match="python -m spacy download xx_none_sm"):
        mine([corpus(2)], tmp_path / "c.csv", replace(gender, parser="xx_none_sm"))
    assert files(tmp_path) == {"corpus.jsonl"}  # the right parser is not refused afterwards
    with pytest.raises(SettingsError, match="en, zh"):
        mine([corpus(2)], tmp_path / "c.csv",
             replace(gender, topic=replace(gender.topic, language="fi")))  # fmt: skip
    with pytest.raises(ContextError, match="does not exist; make it first"):
        mine([corpus(2)], tmp_path / "none" / "c.csv", gender)
    with pytest.raises(SettingsError, match="resolver: expected one of rules"):
        mine([corpus(2)], tmp_path / "d.csv", replace(gender, resolver="guess"))


def test_a_language_model_can_drop_templates(
    corpus: Write, gender: MineSettings, tmp_path: Path
) -> None:
    contexts = mine(
        [corpus(12)],
        tmp_path / "c.csv",
        gender,
        perplexity=lambda texts: [100.0 if "because" in t else 10.0 for t in texts],
        max_perplexity=50,
    )
    assert not any("because" in t for t in contexts.templates)
    assert contexts.metadata.too_unlikely == 1


def test_the_command_mines_and_prints_a_summary(
    corpus: Write, tmp_path: Path, clinometer: Callable[..., Any]
) -> None:
    out = tmp_path / "c.csv"
    keys = ("--set", "source=our own", "--set", "links=clause")
    done = clinometer("mine", corpus(12), "--out", out, "--json", *keys)
    assert done.status == 0, done.err
    result = json.loads(done.out)
    assert result["source"] == "our own"
    assert result["command"].endswith("--set links=clause")
    assert result["contexts"] == len(load_contexts(out))
    assert result["occurrences"] == 24
    wrong = clinometer("mine", tmp_path / "none.txt", "--out", out)
    assert wrong.status == 2
    assert wrong.err.count("\n") == 1
    assert "no such file" in wrong.err
