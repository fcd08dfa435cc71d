"""Models laid out by the library: over devices, and in 8 bits."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from tiltmeter.errors import MissingExtra
from tiltmeter.models import LoadOptions, open_model
from tiltmeter.topics import Prompt

PROMPTS = [Prompt("The nurse said that", "", space=True), Prompt("The man", " left", space=True)]
WORDS = ("he", "she", "grandson", "granddaughter")


@pytest.mark.parametrize("name", ["pocket:gpt2-s", "smollm2"])
def test_a_device_map_moves_no_number(name: str) -> None:
    plain = open_model(name)
    spread = open_model(name, load=LoadOptions(device_map="auto"))
    assert spread.info.device == "cpu"
    np.testing.assert_allclose(
        spread.score(PROMPTS, WORDS).log_probs, plain.score(PROMPTS, WORDS).log_probs, atol=1e-5
    )


def test_eight_bits_need_their_package() -> None:
    if importlib.util.find_spec("bitsandbytes") is not None:
        pytest.skip("bitsandbytes is installed: nothing is missing")
    with pytest.raises(MissingExtra, match=r"tiltmeter\[8bit\]"):
        open_model("pocket:gpt2-s", load=LoadOptions(quantize="8bit"))
