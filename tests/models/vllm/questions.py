"""What the engine, the server and transformers are all asked."""

from __future__ import annotations

from clinometer.models import WordOptions
from clinometer.topics import Prompt

PROMPTS = [
    Prompt("The nurse said that", "", space=True),
    Prompt("The nurse said that", " was late", space=True),
    Prompt("The man", " left", space=True),
]
WORDS = ("he", "she", "grandson", "granddaughter")
EXACT = WordOptions(tolerance=0)
CHAT = "<|im_start|>user\nGo on.<|im_end|>\n<|im_start|>assistant\n"
