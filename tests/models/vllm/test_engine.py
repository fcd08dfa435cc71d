"""vLLM's offline engine against the same weights in transformers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.vllm.questions import CHAT, EXACT, PROMPTS, WORDS
from tests.processes import PATIENCE_S, ROOT

from clinometer.errors import MissingExtra, ModelNotFound, SettingsError
from clinometer.models import LoadOptions, ModelSpec, WordOptions, open_model
from clinometer.models.local.causal import CausalScorer
from clinometer.runs import Run

PYTHON = Path(sys.prefix) / "vllm" / "bin" / "python"


@pytest.fixture(scope="module")
def found(smol_folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [PYTHON, "-m", "tests.models.vllm.engine", smol_folder],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_the_engine_gives_the_numbers_of_the_model(
    found: dict[str, Any], smol_folder: Path
) -> None:
    local = open_model(str(smol_folder), words=EXACT)
    ours = local.score(PROMPTS, WORDS).log_probs
    assert found["reads_ids"]
    np.testing.assert_allclose(found["by_ids"], ours, atol=1e-3)
    np.testing.assert_allclose(found["by_prompt"], ours, atol=1e-3)
    assert found["info"]["revision"] == local.info.revision
    assert (found["info"]["device"], found["info"]["dtype"]) == ("vllm", "float32")


def test_inside_a_chat_template(found: dict[str, Any], smol_folder: Path) -> None:
    plain = open_model(str(smol_folder), words=EXACT)
    assert isinstance(plain, CausalScorer)
    plain.chat = CHAT
    ours = plain.score(PROMPTS[:1], WORDS).log_probs
    np.testing.assert_allclose(found["inside"], ours, atol=1e-3)
    assert np.abs(ours - np.array(found["by_ids"][:1])).max() > 0.1


def test_samples_ignore_the_models_generation_config(found: dict[str, Any]) -> None:
    """generation_config.json asks for the most probable token only."""
    shares, p = np.exp(found["draws"][0]), np.exp(found["by_ids"][0])
    assert (np.abs(shares - p) < 4 * np.sqrt(p * (1 - p) / 100) + 0.005).all()
    assert shares[1] > 0


def test_a_dead_engine_is_one_line(found: dict[str, Any]) -> None:
    assert found["killed"].startswith("model 'vllm:")
    assert "rerun the same command to resume" in found["killed"]
    assert "Another prompt" not in found["killed"]


def test_the_command_runs_and_its_second_run_uses_the_cache(
    tmp_path: Path, environment: dict[str, str], clinometer: Callable[..., Any]
) -> None:
    def command(model: str, out: str) -> list[str]:
        groups = ("--topic", "gender", "--groups", "nurse,engineer")
        return ["audit", model, *groups, "--contexts", "paper-gender", "--out", str(tmp_path / out)]

    def in_its_environment(out: str, before: str = "") -> Run:
        cached = {**environment, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        del cached["CLINOMETER_CACHE_LIMIT"]
        call = f"from clinometer.cli import main; main({command('vllm:pocket:gpt2-s', out)!r})"
        guarded = f"if __name__ == '__main__': {call}"  # the engine's processes read the file again
        script = tmp_path / f"{out}.py"
        script.write_text(f"import sys\n{before}\n{guarded}\n")
        done = subprocess.run(
            [PYTHON, script],
            env=cached,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert "nurse" not in done.stderr
        return Run.load(tmp_path / out)

    engine = in_its_environment("engine")
    assert clinometer(*command("pocket:gpt2-s", "local")).status == 0
    local = Run.load(tmp_path / "local")
    np.testing.assert_allclose(engine.preferences.values, local.preferences.values, atol=1e-3)
    again = in_its_environment("again", before="sys.modules['vllm'] = None")
    np.testing.assert_array_equal(again.preferences.values, engine.preferences.values)


def test_unsupported_options_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ModelSpec.parse("vllm:pocket:gpt2-s").target.endswith("gpt2-s")
    with pytest.raises(ModelNotFound, match="without 'vllm:'"):
        open_model("vllm:smollm2")
    with pytest.raises(SettingsError, match="end-of-word"):
        open_model("vllm:some/model", words=WordOptions(end_of_word=True))
    with pytest.raises(SettingsError, match="8 bits"):
        open_model("vllm:some/model", load=LoadOptions(quantize="8bit"))
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(MissingExtra, match=r"clinometer\[vllm\]"):
        open_model("vllm:some/model", load=LoadOptions())
