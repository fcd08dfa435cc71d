"""A whole mining run: counts, samples, kills, edges, the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock, patch

import numpy as np
import pytest
from tests.command import Clinometer, refused
from tests.contexts.mining.conftest import assert_same_sets

from clinometer.contexts import load_contexts
from clinometer.contexts.mining import MineSettings, mine, pieces
from clinometer.contexts.mining.corpora import lines
from clinometer.contexts.mining.corpora.sources import digest_of_sample
from clinometer.contexts.mining.run import mine_shard
from clinometer.contexts.mining.work_folder import WorkFolder
from clinometer.errors import ContextError, SettingsError
from clinometer.storage.shard import Shard
from clinometer.topics import load_topic

Write = Callable[..., Path]


def files(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_counts_and_sidecar_are_written(
    corpus: Write, gender: MineSettings, tmp_path: Path
) -> None:
    why = tmp_path / "why.jsonl"
    progress = Mock()
    contexts = mine(
        [corpus(60)], tmp_path / "c.csv", gender, explain=why, progress=progress
    )
    parsing = [
        call.args[1:] for call in progress.mock_calls if call.args[0] == "parsing"
    ]
    assert parsing == [(done, 10) for done in range(11)]  # also of a small corpus
    count = dict(zip(contexts.templates, contexts.counts, strict=True))
    # Six verbs in turn; said and says are one: 20 of 60, the others 10 each; 60 × because.
    assert count["The [X] left the room because [Y]"] == 60
    assert count["The [X] said that [Y]"] == 20
    assert count["The [X] thought that [Y]"] == count["The [X] knew that [Y]"] == 10
    assert sum(contexts.counts) == 120
    assert load_contexts(tmp_path / "c.csv") == contexts
    about = contexts.metadata
    assert about.articles == {"read": 60, "mined": 60}
    assert about.sentences_parsed == 120
    assert (
        about.command
        == "clinometer mine corpus.jsonl --topic gender --sample 10000 --seed 0"
    )
    rows = [json.loads(line) for line in why.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 120
    assert {"sentence", "template", "dropped", "parse", "confidence"} == set(rows[0])
    assert contexts.extra["articles"][0] == "60"
    assert about.min_confidence == gender.min_confidence == 0.87
    assert about.confidences is not None
    assert sum(about.confidences.values()) == 120
    assert min(map(float, about.confidences)) >= 0.87
    assert files(tmp_path) == {"corpus.jsonl", "c.csv", "c.json", "why.jsonl"}


@pytest.mark.parametrize("sample", [None, 25])
def test_however_the_work_is_shared_the_bytes_are_the_same(
    corpus: Write, gender: MineSettings, place: Write, sample: int | None
) -> None:
    """By processes, or by shards of which one was never started; nothing is done twice."""
    path, settings = corpus(40), replace(gender, sample=sample)
    whole = mine([path], place("one"), settings)
    assert whole.metadata.articles == {"read": 40, "mined": sample or 40}
    assert sum(whole.counts) == 2 * (sample or 40)
    shared = mine([path], place("two"), settings, processes=2)
    assert shared == whole
    assert_same_sets(place("one"), place("two"))
    real = WorkFolder.write_part
    with patch.object(
        WorkFolder, "write_part", autospec=True, side_effect=real
    ) as write:
        for shard in ("2/3", "0/3"):
            mine_shard([path], place("three"), settings, Shard.parse(shard))
        assert 0 < write.call_count < 10
        mine([path], place("three"), settings)
    stored = sorted(call.args[1] for call in write.mock_calls)
    assert stored == list(range(10 if sample is None else 9))
    assert_same_sets(place("one"), place("three"))
    assert files(place("three").parent) == {"c.csv", "c.json"}


def test_shards_of_another_number_or_setting_are_refused(
    corpus: Write, gender: MineSettings, place: Write
) -> None:
    path = corpus(12)
    mine_shard([path], place("out"), gender, Shard(0, 3))
    with pytest.raises(ContextError, match=r"shards \(3, now 4\)"):
        mine_shard([path], place("out"), gender, Shard(0, 4))
    with pytest.raises(ContextError, match="seed"):
        mine_shard([path], place("out"), replace(gender, seed=1), Shard(1, 3))
    work = WorkFolder(place("out"))
    with work.joined(work.earlier() or {}, Shard(1, 3)):
        for start in (
            lambda: mine_shard([path], place("out"), gender, Shard(1, 3)),
            lambda: mine([path], place("out"), gender),
        ):
            with pytest.raises(ContextError, match="another process"):
                start()
        mine_shard([path], place("out"), gender, Shard(2, 3))


def test_a_corpus_that_changed_between_shards_is_refused(
    corpus: Write, gender: MineSettings, place: Write
) -> None:
    path = corpus(12)
    mine_shard([path], place("out"), gender, Shard(0, 3))
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"Arden", b"Ardon"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    with pytest.raises(ContextError, match="other settings: sources"):
        mine_shard([path], place("out"), gender, Shard(1, 3))


def test_the_digest_of_a_large_corpus_knows_its_beginning_middle_and_end(
    tmp_path: Path,
) -> None:
    content = bytearray(np.random.default_rng(0).bytes(3_000_001))
    file = tmp_path / "corpus.txt"
    digests = set()
    for change in (None, 0, 1_500_000, 3_000_000):
        changed = bytearray(content)
        if change is not None:
            changed[change : change + 40_000] = changed[change : change + 40_000][::-1]
        if change == 3_000_000:
            changed[-1] ^= 1
        file.write_bytes(changed)
        digests.add(digest_of_sample(file))
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("settings.json", '{"shards": "x"}'),
        ("settings.json", '{"shards": 0}'),
        ("settings.json", '{"shards": true}'),
        ("sources/00000.json", '{"articles": -3, "damage": {}}'),
        ("sources/00000.json", '{"articles": 12, "damage": {"torn": -1}}'),
        ("parts/000000.json", '{"read": -1}'),
        ("parts/000000.json", '{"templates": {"The [X] left": -5}}'),
        ("parts/0abc.json", "{}"),
    ],
)
def test_a_work_folder_that_nobody_wrote_is_refused_in_one_line(
    name: str, content: str, corpus: Write, tmp_path: Path, clinometer: Clinometer
) -> None:
    path = corpus(12)
    asked = ("mine", path, "--topic", "gender", "--out", tmp_path / "c.csv")
    assert clinometer(*asked, "--shard", "0/1").status == 0
    (tmp_path / "c.csv.mining" / name).write_text(content, encoding="utf-8")
    refused(clinometer(*asked), str(tmp_path / "c.csv.mining" / name))


def test_files_of_others_stay_where_work_was(
    corpus: Write, gender: MineSettings, tmp_path: Path
) -> None:
    work = tmp_path / "c.csv.mining"
    for folder in (work, work / "parts"):
        folder.mkdir()
        (folder / "notes.txt").write_text("keep", encoding="utf-8")
    mine([corpus(12)], tmp_path / "c.csv", gender)
    assert files(work) == {"notes.txt", "parts"}
    assert files(work / "parts") == {"notes.txt"}


def test_articles_are_counted_once_however_the_work_is_divided(
    corpus: Write, gender: MineSettings, place: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for near-duplicates: took a job and took the job."""
    sentence = "The nurse said that she would stay."
    path = corpus(
        0,
        " ".join([sentence] * 5 + ["The nurse took a job because she was poor."]),
        f"{sentence} {sentence} The pilot took the job because he was poor. "
        "He said that he was poor.",
        "The nurse took a job because she was poor. The pilot took the job when he left.",
    )
    for fewest, batch in ((1, 400), (2, 2), (3, 1)):
        monkeypatch.setattr(pieces, "FEWEST", fewest)
        monkeypatch.setattr(pieces, "BATCH", batch)
        contexts = mine([path], place(str(fewest)), gender)
        rows = zip(
            contexts.templates, contexts.counts, contexts.extra["articles"], strict=True
        )
        assert list(rows) == [
            ("The [X] said that [Y]", 8, "2"),
            ("The [X] took a job because [Y]", 3, "3"),
            ("The [X] took the job when [Y]", 1, "1"),
        ]
    assert_same_sets(place("1"), place("3"))


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


def test_predicates_are_of_the_topics_own_people_or_of_anybody(
    corpus: Write, tmp_path: Path
) -> None:
    path = corpus(
        0,
        "The black nurse, who won a prize, left. A Muslim lawyer lost a coat. The pilot was tall.",
        "Ada Smith is an Indian lawyer. She was born into a Hindu family. She won a prize.",
        "The blind teacher played a role. The teacher sold the house.",
    )
    race = MineSettings(topic=load_topic("race"))
    contexts = mine([path], tmp_path / "own.csv", race)
    assert (contexts.metadata.topic, contexts.metadata.about) == ("race", "own")
    assert contexts.templates == ("The [X], who won a prize, is [Y]",)
    assert list(contexts.counts) == [
        2
    ]  # the black nurse, and the subject of the second article
    general = mine([path], tmp_path / "any.csv", replace(race, about="any"))
    assert "The [X], who sold the house, is [Y]" in general.templates
    assert general.metadata.about == "any"
    assert (general.metadata.command or "").endswith("--about any")


KILLED = """
import os, signal, sys
from clinometer.contexts.mining import MineSettings, mine
from clinometer.topics import load_topic
remaining = int(sys.argv[3])
def progress(stage, done, total):
    global remaining
    if stage == "parsing":
        remaining -= 1
        if remaining == 0:
            os.kill(os.getpid(), signal.SIGKILL)
mine([sys.argv[1]], sys.argv[2], MineSettings(topic=load_topic("gender")), progress=progress)
"""


def test_a_killed_run_resumes_to_the_same_bytes(
    corpus: Write, gender: MineSettings, place: Write
) -> None:
    path = corpus(50)
    mine([path], place("whole"), gender)
    killed = place("killed")
    for reports in (4, 4):  # killed twice, at different places
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), str(killed), str(reports)],
            check=False,
        )
        assert done.returncode == -signal.SIGKILL
        assert not killed.exists()
    assert WorkFolder(killed).done() == set(range(6))
    mine([path], killed, gender)
    assert_same_sets(place("whole"), killed)
    assert files(killed.parent) == {"c.csv", "c.json"}


def test_a_damaged_piece_is_refused(
    corpus: Write, gender: MineSettings, tmp_path: Path
) -> None:
    path, out = corpus(20), tmp_path / "c.csv"
    mine_shard([path], out, gender, Shard(0, 2))
    part = next((tmp_path / "c.csv.mining" / "parts").glob("*.json"))
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.raises(ContextError, match="damaged; start over with --fresh"):
        mine([path], out, gender)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected at least one article, found an empty file"),
        (
            b'{"text": "Nothing of the kind stands here."}\n',
            "no context found in 1 articles",
        ),
        (b"\0\0\0\0", "expected text, found a binary file"),
        (b'\xff\xff\n{"text": "Nothing here."}\n', "no context found in 1 articles"),
        (b"\xff\xff\n", r"skipped: 1 × read as Windows-1252 \(not valid UTF-8\)"),
        (
            b'{"body": "He said he left."}\n',
            "no article has text in the field 'text'.* --field",
        ),
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
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(content)
    with pytest.raises(ContextError, match=message) as caught:
        mine([path], tmp_path / "c.csv", gender)
    assert "\n" not in str(caught.value)
    assert files(tmp_path) == {"corpus.jsonl"}


def test_wrong_settings_are_refused(
    gender: MineSettings, corpus: Write, tmp_path: Path
) -> None:
    with pytest.raises(
        SettingsError, match="sample: expected a whole number of at least 1"
    ):
        replace(gender, sample=0)
    with pytest.raises(SettingsError, match="about: expected one of"):
        replace(gender, about="magic")
    with pytest.raises(SettingsError, match="python -m spacy download xx_none_sm"):
        mine([corpus(2)], tmp_path / "c.csv", replace(gender, parser="xx_none_sm"))
    assert files(tmp_path) == {
        "corpus.jsonl"
    }  # the right parser is not refused afterwards
    with pytest.raises(ContextError, match="does not exist; make it first"):
        mine([corpus(2)], tmp_path / "none" / "c.csv", gender)


def test_the_command_mines_and_prints_a_summary(
    corpus: Write, tmp_path: Path, clinometer: Clinometer
) -> None:
    out = tmp_path / "c.csv"
    keys = ("--set", "source=our own", "--set", "min_count=2")
    done = clinometer("mine", corpus(12), "--out", out, "--json", *keys)
    assert done.status == 0, done.err
    result = json.loads(done.out)
    assert result["source"] == "our own"
    assert result["command"].endswith("--set min_count=2")
    assert result["contexts"] == len(load_contexts(out))
    assert result["occurrences"] == 24
    anyone = ("--topic", "race", "--about", "any", "--shard", "0/1")
    assert clinometer("mine", corpus(12), "--out", out, *anyone).status == 0
    assert (tmp_path / "c.csv.mining").is_dir()
    refused(clinometer("mine", tmp_path / "none.txt", "--out", out), "no such file")
