"""tiltmeter audit: ask models and measure their risks."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter.cli.output import (
    CLUSTER,
    TWO_WAY,
    console,
    exceeded,
    parse_limits,
    print_json,
    progress_bar,
    risk_table,
)
from tiltmeter.errors import SettingsError, TiltmeterError
from tiltmeter.models.spec import folder_name

OUT = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Run folder; with several models, one folder a model under it."
    ),
]


def audit_command(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help="smollm2, pocket:NAME, reference:unbiased|stereotyped|random, a folder, a .gguf "
            "file, a Hugging Face id, a server openai:URL#MODEL, or vllm:MODEL.",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(help="The models of a paper's table that are at hand, such as bvf-gender."),
    ] = None,
    topic: Annotated[str, typer.Option(help="A built-in topic or a .toml file.")] = "gender",
    contexts: Annotated[
        str | None,
        typer.Option(
            help="A source (wikipedia, book, conversation, textbook, web), a built-in context set "
            "or a .csv file.  [default: paper-TOPIC]"
        ),
    ] = None,
    out: OUT = None,
    groups: Annotated[
        str | None, typer.Option(help="Only these groups of the topic, separated by commas.")
    ] = None,
    max_contexts: Annotated[
        int | None, typer.Option(help="Draw so many contexts by weight instead of asking all.")
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            help="Draw contexts by weight until R, Rᵇ and Rᵛ are known to ± this (at most "
            "--max-contexts draws)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw and of the intervals.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
    dtype: Annotated[
        str, typer.Option(help="auto, float32, bfloat16 or float16 (auto: float32 on a CPU).")
    ] = "auto",
    batch_size: Annotated[
        str, typer.Option(help="Tokens in a batch; never moves a number beyond rounding.")
    ] = "auto",
    kind: Annotated[
        str | None,
        typer.Option(help="causal, masked, seq2seq or permutation, if it is not told rightly."),
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Revision on the hub.")] = None,
    tolerance: Annotated[
        float,
        typer.Option(help="How far unexpanded words may move a preference; 0 scores every word."),
    ] = 1e-4,
    end_of_word: Annotated[
        bool,
        typer.Option("--end-of-word", help="Count a word only where it ends (not he in hero)."),
    ] = False,
    single_token: Annotated[
        bool,
        typer.Option("--single-token", help="The papers' restriction to words of a single token."),
    ] = False,
    norm: Annotated[str, typer.Option(help="k of the criterion J_k: 1, 2, … or inf.")] = "inf",
    raw: Annotated[
        bool, typer.Option("--raw", help="Risks of the raw equations, not scaled from 0 to 1.")
    ] = False,
    coverage_threshold: Annotated[
        float, typer.Option(help="Flag cells whose words hold less probability than this.")
    ] = 1e-3,
    replicates: Annotated[
        int, typer.Option(help="Bootstrap replicates behind the intervals; 0 computes none.")
    ] = 2000,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    cluster: CLUSTER = None,
    two_way: TWO_WAY = False,
    chat: Annotated[
        bool,
        typer.Option(
            "--chat",
            help="Ask inside the chat template as well: the sentence begun as the assistant's "
            "turn, side by side with the raw contexts.",
        ),
    ] = False,
    chat_request: Annotated[
        str, typer.Option(help="What the user says in the chat template.")
    ] = "Write a sentence.",
    sampled: Annotated[
        int | None,
        typer.Option(help="Draw so many answers a context instead of reading probabilities."),
    ] = None,
    temperature: Annotated[float, typer.Option(help="Temperature of the draws.")] = 1.0,
    device_map: Annotated[
        str | None, typer.Option(help="auto: spread a large model over all GPUs.")
    ] = None,
    quantize: Annotated[
        str | None, typer.Option(help="8bit: weights in 8 bits (bitsandbytes).")
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(help="Tokenizer of a server's model, if the server has none to offer."),
    ] = None,
    route: Annotated[
        str | None,
        typer.Option(
            help="How a server is asked: token-ids, prompt-logprobs, echo, boost, boost-plain, "
            "force or top-k.  [default: the first that works]"
        ),
    ] = None,
    top_k: Annotated[
        int, typer.Option(help="Tokens asked for where a server tells only the most probable.")
    ] = 100,
    concurrency: Annotated[int, typer.Option(help="Requests under way at a time.")] = 8,
    timeout: Annotated[float, typer.Option(help="Seconds that one request may take.")] = 60.0,
    patience: Annotated[
        float, typer.Option(help="Seconds without an answer after which a server counts as gone.")
    ] = 60.0,
    max_requests: Annotated[
        int | None,
        typer.Option(help="Stop cleanly after so many requests; the same command continues."),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="The same for tokens, as the server counts them.")
    ] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with a model.")
    ] = False,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Read pickled weights, which can run code.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over instead of continuing the run in --out.")
    ] = False,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay", help="Compute every number anew from the scores in --out; opens no model."
        ),
    ] = False,
    no_cache: Annotated[
        bool,
        typer.Option("--no-cache", help="Score every cell, also those this machine has scored."),
    ] = False,
    executor: Annotated[
        str, typer.Option(help="Where the model runs: local, or ray (see docs/cluster.md).")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(help="ray: the most workers at a time.  [default: all that fit]")
    ] = None,
    worker_cpus: Annotated[
        float | None,
        typer.Option(help="ray: cores of a worker.  [default: 1 with a GPU, else a node's]"),
    ] = None,
    worker_gpus: Annotated[
        float | None,
        typer.Option(help="ray: GPUs of a worker.  [default: 1 where there are any]"),
    ] = None,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(help="Exit with 1 when a risk is higher: R=0.4, R_bias=…, R_volatility=…."),
    ] = None,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Ask models about every group in every context, and measure.

    An interrupted audit continues with the same command; a finished one is not asked again.
    """
    from tiltmeter.cluster import Need
    from tiltmeter.models import LoadOptions, SampleOptions, ServerOptions, WordOptions
    from tiltmeter.runs import AuditSettings
    from tiltmeter.topics import load_topic

    limits = parse_limits(fail_above or [])
    settings = AuditSettings(
        max_contexts=max_contexts,
        precision=precision,
        seed=seed,
        norm=parse_norm(norm),
        normalize=not raw,
        coverage_threshold=coverage_threshold,
        replicates=replicates,
        level=level,
        clusters=cluster,
        two_way=two_way,
        load=LoadOptions(
            kind=kind,
            device=device,
            dtype=dtype,
            revision=revision,
            batch_tokens=_batch_tokens(batch_size),
            device_map=device_map,
            quantize=quantize,
            chat_request=chat_request,
            sampled=None
            if sampled is None
            else SampleOptions(draws=sampled, temperature=temperature, seed=seed),
            server=ServerOptions(
                tokenizer=tokenizer,
                route=route,
                top_k=top_k,
                concurrency=concurrency,
                timeout=timeout,
                patience=patience,
                max_requests=max_requests,
                max_tokens=max_tokens,
            ),
            trust_remote_code=trust_remote_code,
            allow_pickle=allow_pickle,
        ),
        words=WordOptions(tolerance=tolerance, end_of_word=end_of_word, single_token=single_token),
    )
    asked = load_topic(topic)
    if groups is not None:
        asked = asked.select([g.strip() for g in groups.split(",") if g.strip()])
    asked_models = [*(models or []), *_at_hand(suite)]
    if len(set(asked_models)) != len(asked_models):
        raise SettingsError("models: expected each model once, found one twice")
    if not asked_models:
        raise SettingsError("models: expected at least one that is at hand; see tiltmeter models")
    runs, failed = _audit_all(
        asked_models,
        out,
        quiet=json_output,
        topic=asked,
        contexts=contexts,
        settings=settings,
        chat=chat,
        fresh=fresh,
        replay=replay,
        cache=not no_cache,
        executor=executor,
        need=Need(cpus=worker_cpus, gpus=worker_gpus, workers=workers),
    )
    if json_output:
        print_json(_json(runs, failed))
    elif runs:
        reference = len(asked.categories) if asked.reference is None else list(asked.reference)
        first = runs[0]
        title = (
            f"{asked.title or asked.name}: {len(asked)} groups, contexts "
            f"{first.record['contexts']['name']}"
        )
        table = [(label(run.model), run.report) for run in runs]
        bounds = {label(run.model): run.record["bounds"] for run in runs if "bounds" in run.record}
        console().print(risk_table(table, title=title, reference=reference, bounds=bounds))
        for run in runs:
            for line in notes(run):
                console().print(line, soft_wrap=True)
    for _, error in failed:
        sys.stderr.write("tiltmeter: " + " ".join(str(error).split()) + "\n")
    above = [line for run in runs for line in exceeded(run.model, run.report, limits)]
    for line in above:
        sys.stderr.write(f"tiltmeter: {line}\n")
    if failed:
        raise typer.Exit(max(error.exit_status for _, error in failed))
    if above:
        raise typer.Exit(1)


def _at_hand(suite_name: str | None) -> list[str]:
    """The models of a suite that can be opened here; the others are named on stderr."""
    if suite_name is None:
        return []
    from tiltmeter.models.zoo import at_hand, suite

    found = []
    for entry in suite(suite_name):
        if at_hand(entry):
            found.append(entry.id)
        else:
            access = ", gated: ask its owner for access" if entry.gated else ""
            code = ", needs --trust-remote-code" if entry.remote_code else ""
            sys.stderr.write(f"not at hand: {entry.name} ({entry.id}{access}{code})\n")
    return found


def _audit_all(
    models: list[str],
    out: Path | None,
    *,
    settings: Any,
    chat: bool,
    quiet: bool,
    **how: Any,
) -> tuple[list[Any], list[tuple[str, TiltmeterError]]]:
    """Every model in turn, asked as `how` says (the arguments of `audit`), with --chat raw and in
    its template. One that fails does not stop the others; alone, its error is the end."""
    from tiltmeter.runs import audit

    runs: list[Any] = []
    failed: list[tuple[str, TiltmeterError]] = []
    in_chat = replace(settings, load=replace(settings.load, chat=True))
    ways = [("", settings), ("-chat", in_chat)] if chat else [("", settings)]
    asked = [(model, suffix, way) for model in models for suffix, way in ways]
    for model, suffix, asked_as in asked:
        folder = out if out is None or len(asked) == 1 else out / (folder_name(model) + suffix)
        try:
            with progress_bar(model + suffix, quiet=quiet) as progress:
                run = audit(model, out=folder, settings=asked_as, progress=progress, **how)
        except TiltmeterError as error:
            if len(asked) == 1:
                raise
            failed.append((model, error))
        else:
            runs.append(run)
    return runs, failed


def label(model: str) -> str:
    """A model's name as the table has room for it: of a server only the model that it serves.

    >>> label("openai:http://127.0.0.1:8080#smol (chat)"), label("pocket:bert")
    ('smol (chat)', 'pocket:bert')
    """
    if model.startswith("openai:"):
        address, _, served = model.removeprefix("openai:").partition("#")
        return served or address.partition("://")[2]
    return model


def notes(run: Any) -> list[str]:
    """What a reader must know of a run beside its three numbers."""
    counts = run.record["counts"]
    lines = [] if run.record["model"]["kind"] == "reference" else [_verdict(run)]
    if found := run.record.get("cache", {}).get("found"):
        lines.append(f"{run.model}: {found} of {counts['cells']} cells were known to this machine")
    if counts.get("cells_missing"):
        lines.append(f"{run.model}: {counts['cells_missing']} cells are missing")
    if counts.get("cells_low_coverage"):
        lines.append(
            f"{run.model}: {counts['cells_low_coverage']} of {counts['cells']} cells rest on less "
            f"than {run.record['settings']['coverage_threshold']:g} of the probability"
        )
    words = run.record.get("words")
    if words and words["unwritable"]:
        lines.append(f"{run.model}: not in its vocabulary: {', '.join(words['unwritable'])}")
    if words and words["restricted"]:
        lines.append(f"{run.model}: {len(words['restricted'])} words of several tokens left out")
    lines += _server_notes(run)
    bound = run.record.get("preference_bound")
    if bound and "bounds" not in run.record:
        lines.append(f"{run.model}: no preference is off by more than {bound:.1e} (--tolerance)")
    return lines


def _server_notes(run: Any) -> list[str]:
    """How the model was asked, where that is not a matter of course."""
    record = run.record
    lines = [f"{run.model}: {note}" for note in record["model"]["notes"]]
    if "bounds" in record:
        lines.append(
            f"{run.model}: rare words are only bounded; no preference is wider than "
            f"{record['bounds']['widest_cell']:.3f}, on average {record['bounds']['mean_cell']:.3f}"
        )
    if "draws" in record:
        n = record["draws"]
        lines.append(
            f"{run.model}: of {n['draws']} draws {n['draws_words']} began with a listed word, "
            f"{n['draws_refusals']} were refusals, {n['draws_other']} something else"
        )
    if usage := record.get("usage"):
        lines.append(
            f"{run.model}: {usage['requests']} requests, {usage['retried']} of them failed and "
            f"were repeated, {usage['tokens']} tokens"
        )
    return lines


def _verdict(run: Any) -> str:
    better = run.record["corrected"]
    return (
        f"{run.model}: {run.record['verdict']} Corrected for the number of contexts: "
        f"Rᵇ {better['R_bias']:.3f}, Rᵛ {better['R_volatility']:.3f}."
    )


def _json(runs: list[Any], failed: list[tuple[str, TiltmeterError]]) -> dict[str, Any]:
    results = [_one_json(run) for run in runs]
    if len(results) == 1 and not failed:
        return results[0]
    return {
        "runs": results,
        "failed": [{"model": model, "error": str(error)} for model, error in failed],
    }


def _one_json(run: Any) -> dict[str, Any]:
    return {
        "model": run.model,
        "path": None if run.path is None else str(run.path),
        "summary": run.record["summary"],
        "corrected": run.record["corrected"],
        "verdict": run.record["verdict"],
        "precision": run.record.get("precision"),
        "n_contexts": run.report.n_contexts,
        "n_eff": run.report.n_eff,
        "counts": run.record["counts"],
        "preference_bound": run.record.get("preference_bound", 0.0),
        **{k: run.record[k] for k in ("bounds", "draws", "usage") if k in run.record},
        "groups": run.report.groups_table(),
    }


def parse_norm(text: str) -> float:
    """k of the criterion: a number of at least 1, or inf."""
    try:
        norm = float(text)
    except ValueError:
        norm = math.nan
    if not norm >= 1:
        raise SettingsError(f"--norm: expected a number of at least 1, or inf; found {text!r}")
    return norm


def _batch_tokens(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise SettingsError(f"--batch-size: expected auto or a number of tokens, found {text!r}")
    return int(text)
