"""Both scripts become one."""

from __future__ import annotations

import marshal
from pathlib import Path

import pytest
from tests.processes import python

from clinometer.contexts.mining.languages.chinese.clauses import is_simplified, to_simplified
from clinometer.contexts.mining.languages.shared import read_lexicon


def test_the_table_pairs_characters_of_two_scripts() -> None:
    script = read_lexicon("clinometer.contexts.mining.languages.chinese")["script"]
    traditional, simplified = ("".join(script[key].split()) for key in script)
    assert len(traditional) == len(simplified) == len(set(traditional))
    assert is_simplified(simplified)
    assert not set(traditional) & set(simplified)


def test_text_of_mixed_scripts_becomes_simplified() -> None:
    assert to_simplified("他離开了學校，因为她很著名") == "他离开了学校，因为她很著名"
    assert to_simplified("她看著窗外") == "她看着窗外"
    assert is_simplified(to_simplified("國會議員討論經濟與戰爭"))
    assert not is_simplified("乾燥")  # 乾隆 in both scripts, 干燥 in one


@pytest.mark.parametrize("content", [marshal.dumps(({"他说": 10**9}, 10**9)), b"\xdb" * 64])
def test_what_lies_in_the_folder_for_temporary_files_is_not_read(
    tmp_path: Path, content: bytes
) -> None:
    """jieba by itself takes the dictionary of anybody who wrote a file of this name there."""
    (tmp_path / "jieba.cache").write_bytes(content)
    code = (
        "import sys, tempfile\n"
        "tempfile.tempdir = sys.argv[1]\n"
        "from clinometer.contexts.mining.languages.chinese.clauses import segmenter\n"
        "print([pair.word for pair in segmenter().cut('他说他离开学校')])"
    )
    done = python(code, tmp_path)
    assert "['他', '说', '他', '离开', '学校']" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["jieba.cache"]
