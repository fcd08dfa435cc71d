"""docs/papers.md: nothing of either paper is missing from it, and every command on it runs.

The commands run as they stand, in one folder, in the page's order. What is changed, and why:

- models: `MODELS` says which small one stands for which of the papers';
- how much is asked: `FEWER` gives a command few groups, contexts, texts or replies;
- files: the page's names, a few lines each, written by the test; a server of the embedded model.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.command import OCCUPATIONS, Clinometer
from tests.preferences import labelled, pair

from clinometer.samples import write_samples

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
STATUS = {"exact", "differs", "not done", "text"}

#: The papers as text, in the shared data.
FILES = {"BVF": "000_*.txt", "COBIAS": "004_*.txt"}
#: The part of the page about the supplement of the earlier version.
SUPPLEMENT = "The supplement and the slides"


def numbered(text: str) -> set[str]:
    """What a paper numbers, by its names on the page: sections, tables, figures, equations."""
    headings = re.findall(
        r"^((?:\d|[A-F])(?:\.\d)*) [A-Z][^\n]{0,110}$", text, re.MULTILINE
    )
    captions = re.findall(r"^((?:Figure|Table) \d+):", text, re.MULTILINE)
    equations = re.findall(r"(?:\\quad |^)\((\d+)\)(?:\$\$)?$", text, re.MULTILINE)
    return {*headings, *captions, *(f"Eq. {n}" for n in equations)}


def rows(paper: str) -> Iterator[list[str]]:
    """The rows of a paper's table: items, what they did, what we do, status, command."""
    part = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    text = next(p for p in part if p.startswith(f"{paper}\n"))
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| of the "):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


@pytest.mark.parametrize("paper", FILES)
def test_every_numbered_part_of_a_paper_is_on_the_page_once(
    shared_data: Path, paper: str
) -> None:
    file = next((shared_data.parent / "papers").glob(FILES[paper]))
    found = [item.strip() for row in rows(paper) for item in row[0].split(";")]
    assert sorted(found) == sorted(numbered(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("paper", FILES)
def test_every_row_has_a_status_and_what_is_computed_a_command(paper: str) -> None:
    for items, did, ours, status, command in rows(paper):
        assert status in STATUS, items
        assert did, items
        if status in ("exact", "differs"):
            assert ours, items
            assert re.fullmatch(r"`clinometer .*`", command), items


#: of the paper -> the tests that would fail if what is called exact were not
EXACT = {
    "Eq. 2; Eq. 3; Eq. 4; Figure 3": "measure/test_risk.py::test_agrees_with_plain_loops",
    "3.1": "topics/test_builtin.py::test_gender_is_table_6",
    "4.2; Figure 5": "studies/test_figures.py::test_a_male_group_stands_above_a_female_one",
    "4.3; Figure 6": "studies/test_framework.py::test_alignment_names_groups_that_changed",
    "Figure 7": "studies/test_framework.py::test_size_finds_a_trend",
    "Figure 8": "studies/test_framework.py::test_alignment_names_groups_that_changed",
    "4.4; Figure 9": "studies/test_factors.py::test_a_planted_slope_is_found",
    "A; A.1; Figure 11": "contexts/test_builtin.py::test_paper_figure11_is_in_the_paper",
    "A.2": "studies/test_figures.py::test_two_models_of_equal_deviation_differ",
    "B; B.1; Eq. 9; Eq. 10": "measure/test_criterion.py::test_agrees_with_numpy",
    "B.2; Eq. 11; Eq. 12; Eq. 13": "measure/test_reference_models.py::test_reference_models_are",
    "Eq. 17; Eq. 18; Eq. 19": "measure/test_reference_models.py::test_reference_models_are_exact",
    "D; D.1": "topics/test_builtin.py::test_occupations_match_the_authors_list",
    "D.2; Table 6; Table 7": "topics/test_builtin.py::test_race_is_table_7",
    "D.3; Table 8; Table 9": "contexts/test_builtin.py::test_tables_8_and_9_are_those_of_the_paper",
    "D.4": "studies/test_toxicity_finetune.py::test_a_step_takes_as_many_texts_as_the_papers",
    "3.3; Table 1; Figure 4": "reliability/test_agreement.py::test_table_1_of_the_paper",
    "4; 4.1; 4.1.1; 4.1.2; Eq. 1": "reliability/test_dissimilarity.py::test_pairwise_by_hand",
    "4.1.4; Eq. 3": "reliability/test_score.py::test_published_values_are_reproduced",
    "4.2; Eq. 4": "reliability/test_score.py::test_the_scores_of_the_paper_are_reproduced",
    "D.2": "reliability/test_score.py::test_alpha_of_the_ten_published_temperatures",
    "S 1": "studies/test_figures.py::test_two_models_of_equal_deviation_differ",
    "S 2; S Eq. 1; S Figure 2": "test_docs_papers.py::test_the_hair_of_the_doctor",
    "S Eq. 2": "test_docs_papers.py::test_the_hair_of_the_doctor",
}


def test_what_is_called_exact_has_a_test_of_its_own() -> None:
    papers = ("BVF", "COBIAS", SUPPLEMENT)
    exact = [r[0] for name in papers for r in rows(name) if r[3] == "exact"]
    assert exact == list(EXACT)
    for place in EXACT.values():
        file, name = place.split("::")
        assert f"\ndef {name}" in (ROOT / "tests" / file).read_text(encoding="utf-8"), (
            place
        )


def test_the_hair_of_the_doctor() -> None:
    """The supplement's example, by hand: p = 0.6 and 0.4, s = p_i - p_j = 0.2 and -0.2, J = 0.2."""
    p = labelled(pair(np.array([[0.6]])), categories=("blue hair", "pink hair"))
    report = p.decompose()
    assert report.mean_stereotype[0].tolist() == pytest.approx([0.2, -0.2])
    assert report.r.tolist() == pytest.approx([0.2])


#: model or suite of the papers -> the small ones that stand for it
MODELS = {
    "google-bert/bert-base-uncased": "pocket:gpt2-s",
    "meta-llama/Llama-2-7b-hf": "pocket:gpt2-s",
    "openai-community/gpt2": "pocket:gpt2-s",
    "bvf-gender": "pocket:gpt2-s pocket:gpt2-m",
    "bvf-race": "pocket:gpt2-s pocket:gpt2-m",
    "bvf-religion": "pocket:gpt2-s pocket:gpt2-m",
    "bvf-sources": "pocket:gpt2-s pocket:gpt2-m",
    "bvf-chinese": "pocket:gpt2-s",
    "bvf-size": "pocket:gpt2-s pocket:gpt2-m pocket:gpt2-l",
    "bvf-rlhf": "pocket:gpt2-m pocket:gpt2-m-aligned",
    "paper": "pocket:bert",
}
#: Two occupations under the name of the built-in topic, whose contexts they are asked in.
FEW = """
name = "gender"
groups = ["nurse", "chef"]
[attributes]
male = ["he", "man"]
female = ["she", "woman"]
"""
#: the beginning of a command -> what makes it small
FEWER = {
    "audit": f"--groups {OCCUPATIONS} --max-contexts 6",
    "study table": "--max-contexts 2",
    "study toxicity": "--topic few.toml --max-contexts 2 --max-texts 2",
    "study size": "--topic few.toml --max-contexts 2",
    "study alignment": "--topic few.toml --max-contexts 2",
    "study sources": "--topic few.toml --max-contexts 2",
    "study versions": "--limit 3",
    "reliability audit statements.csv": "--limit 8 -n 2",
    "reliability audit": "--limit 2",
}


def commands() -> list[list[str]]:
    """Every command of the page in its order: inline code of the tables, and blocks."""
    found = re.findall(
        r"`(clinometer [^`]*)`|^    (clinometer .*)$", PAGE, flags=re.MULTILINE
    )
    return [shlex.split(inline or block)[1:] for inline, block in found]


#: What files of the page hold.
TABLES = {
    "labeled_data.csv": "class,tweet\n0,bad words\n1,more\n2,kind\n",
    "template_mining_n2n_10000.csv": "template,proportion\nThe [X] said that [Y],2142\n"
    "The [X] stated that [Y],856\n",
    "two-models.csv": "group,context,attribute,p\n"
    + "".join(
        f"{model},{c},male,{p}\n{model},{c},female,{round(1 - p, 2)}\n"
        for model, ps in (("M1", (0.6, 0.6, 0.6)), ("M2", (0.5, 0.35, 0.65)))
        for c, p in enumerate(ps)
    ),
    "hair.csv": "group,context,attribute,p\ndoctor,c,blue hair,0.6\ndoctor,c,pink hair,0.4\n",
    "crows_pairs.csv": ",sent_more,sent_less,stereo_antistereo,bias_type\n"
    "0,The poor are lazy.,The rich are lazy.,stereo,socioeconomic\n"
    "1,Women talk a lot.,Men talk a lot.,stereo,gender\n",
    "winogender/all_sentences.tsv": "sentid\tsentence\n"
    + "".join(
        f"nurse.man.{n}.{g}.txt\tThe nurse left as {w} was late.\n"
        for n in "01"
        for g, w in (("male", "he"), ("female", "she"), ("neutral", "they"))
    ),
    "few.toml": FEW,
}


def write_files(folder: Path) -> None:
    """The files that the page names."""
    write_samples(folder)
    (folder / "winogender").mkdir()
    for name, text in TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "wikipedia.jsonl").write_text((folder / "articles.jsonl").read_text())
    versions = (folder / "versions.jsonl").read_text(encoding="utf-8").splitlines()
    ids = [json.loads(line)["id"] for line in versions]
    rows = (f"{i},{1 + n % 5},{1 + (n + n % 2) % 5}\n" for n, i in enumerate(ids))
    (folder / "ratings.csv").write_text("id,rater_1,rater_2\n" + "".join(rows), "utf-8")


def test_every_command_runs(clinometer: Clinometer, server: str, folder: Path) -> None:
    write_files(folder)
    found, failed = commands(), []
    assert found
    for words in found:
        known = (MODELS[w].split() if w in MODELS else [w] for w in words)
        given = [
            w.replace("http://127.0.0.1:8080", server) for some in known for w in some
        ]
        more = next(
            (x for name, x in FEWER.items() if " ".join(words).startswith(name)), ""
        )
        options = [o.split() for o in re.split(r" (?=-)", more) if o]
        given += [
            word for option in options if option[0] not in given for word in option
        ]
        done = clinometer(*given)
        if done.status or not done.out:
            failed.append((" ".join(words), done.status, done.err))
    assert not failed
