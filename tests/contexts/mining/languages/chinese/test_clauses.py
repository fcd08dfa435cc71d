"""Both scripts become one."""

from __future__ import annotations

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
