"""The ledger of a fix: a model against itself with a prompt, an adapter or a steering vector.

Every fix has its control, and both are asked what the base is asked; the fixes also about topics
that they were not made for, and for facts. `measure/ledger.py` has the statistics and the verdicts.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from clinometer.contexts import ContextSet
from clinometer.display.text import brief
from clinometer.errors import ClinometerError, RunError, SettingsError, closest
from clinometer.extras import require
from clinometer.findings.phrases import capital, minus
from clinometer.findings.unit import PER_CENT, Unit
from clinometer.measure.components import CellMoments, Deviations
from clinometer.measure.ledger import Changes, Responses, Ruling, changes, ruling
from clinometer.models import ModelSource, ModelSpec, open_model
from clinometer.models.catalog.pretrained import ADAPTER, adapter_base
from clinometer.models.catalog.spec import APPLICATIONS
from clinometer.models.open import loaded_once
from clinometer.models.options import AUTOMATIC_REPLIES, QUESTION
from clinometer.report import Table, charts
from clinometer.report.export import write_files
from clinometer.report.figure import chart
from clinometer.runs import AuditSettings, Run
from clinometer.settings import with_settings
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate, with_ends
from clinometer.statistics.intervals.means import interval_of_means
from clinometer.storage.untrusted import folder_name, read_json, read_text
from clinometer.studies.framework import (
    Findings,
    Plan,
    PlannedRun,
    Results,
    audit_all,
    data,
)
from clinometer.studies.knowledge import Relation, score_facts
from clinometer.topics import Topic
from clinometer.topics.conversation import END, is_conversation, joined, messages_of
from clinometer.topics.prompt import Y

SYSTEM, PREFIX, STEER, ADAPTED, MODEL, RUN = (
    "system",
    "prefix",
    "steer",
    "adapter",
    "model",
    "run",
)
KINDS = {SYSTEM: ":FILE", PREFIX: ":TEXT", STEER: "[:LAYER]", ADAPTED: ":FOLDER", MODEL: ":NAME",
         RUN: ":FOLDER"}  # fmt: skip
PROMPTS = (SYSTEM, PREFIX)
BASE, TOPIC, ALSO, FACTS, TEXTS = "base", "topic", "also ", "facts ", "texts"

STRENGTHS = (-2, -1, 1, 2)
"""How many times a steering vector is added; 1 moves those who get least to those who get most."""

MOST_PROMPTS, MOST_GROUPS = 400, 8
"""Prompts, and groups, at either end that a steering vector is fitted on."""


@dataclass(frozen=True)
class Fix:
    """One thing that is done to a model.

    name   in tables
    kind   one of KINDS
    value  the text, folder, model or number of a layer
    of     of a control: the name of the fix
    """

    name: str
    kind: str
    value: str = ""
    of: str = ""
    strength: float = 0.0


def read_fix(text: str) -> Fix:
    """A fix as it is typed."""
    prompts = data("fixes")["prompts"]
    if text in prompts:
        return Fix(text, SYSTEM, prompts[text]["text"])
    kind, _, value = text.partition(":")
    if kind not in KINDS or (not value.strip() and kind != STEER):
        forms = ", ".join([*prompts, *(name + more for name, more in KINDS.items())])
        near = closest(kind, (*prompts, *KINDS))
        raise SettingsError(f"--fix: expected one of {forms}; found {text!r}{near}")
    if kind == STEER and value and not value.isdecimal():
        raise SettingsError(
            f"--fix: expected steer or steer:LAYER, a number; found {text!r}"
        )
    name = f"{kind} {Path(value).name}".strip()
    if kind == SYSTEM:
        name = f"system {Path(value).stem}"
        value = read_text(
            Path(value), shown=value, kind="text", error=SettingsError
        ).strip()
    elif kind == PREFIX:
        name = f"“{brief(value, 24)}”"
    return Fix(name, kind, value)


def irrelevant(words: int) -> str:
    """So many words that say nothing about people."""
    text = data("fixes")["control"]["text"].split()
    return " ".join(text[i % len(text)] for i in range(words)).rstrip(".,") + "."


def with_controls(fixes: Sequence[Fix], out: Path) -> list[Fix]:
    """Each fix and its control; a steering vector at every strength, and as many random ones."""
    found: list[Fix] = []
    for fix in fixes:
        value, each = fix.value, [fix]
        if fix.kind in PROMPTS:
            value = irrelevant(len(value.split()))
        elif fix.kind == ADAPTED:
            value = str(out / "shuffled" / folder_name(fix.name))
        elif fix.kind == STEER:
            named = [(s, f"{fix.name} × {minus(str(s))}") for s in STRENGTHS]
            each = [replace(fix, name=name, strength=s) for s, name in named]
        for one in each:
            control = replace(
                one, name=f"{one.name}: control", of=one.name, value=value
            )
            found += [one] if one.kind in (MODEL, RUN) else [one, control]
    return found


# --- What is asked -------------------------------------------------------------------------------


def fixes_plan(
    model: str,
    fixes: Sequence[Fix],
    out: Path,
    topics: Sequence[tuple[Topic, ContextSet]],
    settings: AuditSettings,
    facts: Sequence[Relation] = (),
) -> Plan:
    """The base, then every fix and its control; after the first topic those that the fixes were not
    made for.

    Contexts are drawn once, before a prompt is added to them, so that all are asked the same ones.
    """
    stored = model.startswith(f"{RUN}:")
    served = not stored and ModelSpec.parse(model).place in (
        ModelSource.SERVER,
        *APPLICATIONS,
    )
    for fix in fixes:
        if (fix.kind in PROMPTS and stored) or (
            fix.kind == STEER and (stored or served)
        ):
            kind = "on this machine" if fix.kind == STEER else "to ask"
            raise SettingsError(
                f"--fix {fix.name}: expected a model {kind}, found {model}"
            )
    if served and settings.load.sampled is None:
        settings = with_settings(settings, {"replies": AUTOMATIC_REPLIES})
    most, settings = settings.max_contexts, replace(settings, max_contexts=None)
    roles = [TOPIC, *(ALSO + topic.name for topic, _ in topics[1:])]
    parts = [
        (role, t, c if most is None else c.draw(most, seed=settings.seed), settings)
        for role, (t, c) in zip(roles, topics, strict=True)
    ]
    if not (stored or served):
        exact = replace(settings, load=replace(settings.load, sampled=None))
        parts += [(f"{FACTS}{r.name}", r.topic, r.contexts, exact) for r in facts]
    chat = settings.load.chat or served
    audits = []
    asked = [f for f in with_controls(fixes, out) if f.kind != RUN]
    asked.sort(key=lambda f: [*KINDS].index(f.kind))
    for fix in [Fix(BASE, MODEL, model)] * (not stored) + asked:
        for role, about, chosen, how in parts[:1] if fix.of else parts:
            named = f"{folder_name(fix.name)}-{folder_name(role)}"
            planned = PlannedRun(fix.name, model, about, chosen, how, named, role)
            audits.append(_fixed(planned, fix, out, chat=chat))
    return Plan("fixes", audits)


def _fixed(planned: PlannedRun, fix: Fix, out: Path, *, chat: bool) -> PlannedRun:
    """The same audit of the fixed model. A prompt is the system message where the model is asked in
    a chat, and else stands before the sentence, as a prefix always does."""
    settings, contexts = planned.settings, planned.contexts
    if fix.kind in (ADAPTED, MODEL):
        return replace(planned, model=fix.value)
    system = fix.kind == SYSTEM and chat
    if fix.kind == STEER:
        load = replace(settings.load, steer=str(vector_file(out, fix)))
    elif (
        system and planned.topic.readout is None
    ):  # before the request to write a sentence
        said = joined(((SYSTEM, fix.value), ("user", settings.load.chat_request)))
        load = replace(settings.load, chat_request=said)
    else:
        templates = [
            _with_prompt(t, fix.value, system=system) for t in contexts.templates
        ]
        return replace(planned, contexts=replace(contexts, templates=templates))
    return replace(planned, settings=replace(settings, load=load))


def _with_prompt(template: str, text: str, *, system: bool) -> str:
    if not system and not is_conversation(template):
        return f"{text} {template}"
    messages = messages_of(template.removesuffix(Y).rstrip())
    role = SYSTEM if system else "user"
    if first := next((m for m in messages if m["role"] == role), None):
        first["content"] = f"{text}\n\n{first['content']}"
    else:
        messages.insert(0, {"role": role, "content": text})
    return joined([(m["role"], m["content"]) for m in messages]) + END + Y


# --- What is made before -------------------------------------------------------------------------


def prepare(plan: Plan, fixes: Sequence[Fix], out: Path, fresh: bool) -> None:
    """Shuffled adapters and steering vectors; a vector needs the answers of the base."""
    for fix in fixes:
        made = with_controls([fix], out)
        if fix.kind == ADAPTED and (
            fresh or not (Path(made[1].value) / ADAPTER).is_file()
        ):
            _shuffled_adapter(fix.value, made[1].value, plan.audits[0].settings.seed)
        if fix.kind == STEER and (
            fresh or not all(vector_file(out, f).is_file() for f in made)
        ):
            _fit(plan.audits[0], made, out, fresh=fresh)


def _shuffled_adapter(fix: str, control: str, seed: int) -> None:
    """An adapter of the same size that learnt nothing: the numbers of each matrix in any order."""
    require("the control of an adapter", "torch", "safetensors")
    import torch
    from safetensors.torch import load_file, save_file

    source, target = Path(fix), Path(control)
    about = read_json(source / ADAPTER) | {
        "base_model_name_or_path": adapter_base(source)
    }
    chance = torch.Generator().manual_seed(seed)
    mixed = {
        name: t.flatten()[torch.randperm(t.numel(), generator=chance)].reshape(t.shape)
        for name, t in load_file(source / "adapter_model.safetensors").items()
    }
    target.mkdir(parents=True, exist_ok=True)
    save_file(mixed, target / "adapter_model.safetensors")
    for file in source.glob("*token*"):
        shutil.copy(file, target)
    write_files({target / ADAPTER: json.dumps(about).encode()})


def vector_file(out: Path, fix: Fix) -> Path:
    return out / "steering" / f"{folder_name(fix.name)}.json"


def halves(run: Run) -> list[list[int]]:
    """The contexts that a vector is fitted on, and those that it is judged on; contexts that are
    sampled together stay together."""
    units = answers_of(run).cells.units
    order = np.random.default_rng(run.record.settings.seed).permutation(
        int(units.max()) + 1
    )
    fits = np.isin(units, order[: len(order) // 2])
    return [np.flatnonzero(part).tolist() for part in (fits, ~fits)]


def _fit(planned: PlannedRun, fixes: Sequence[Fix], out: Path, *, fresh: bool) -> None:
    """From those groups that get least to those that get most, in one half of the contexts."""
    from clinometer.models.local.causal import CausalScorer
    from clinometer.models.local.steer import fitted

    base = audit_all(Plan("fixes", [planned]), out, fresh=fresh)[0][0][1]
    fit, _ = halves(base)
    n = min(MOST_GROUPS, len(base.preferences.groups) // 2)
    if not n or not fit:
        raise SettingsError(
            "--fix steer: expected at least two groups and two contexts"
        )
    groups = np.argsort(
        Deviations.of(answers_of(base, fit).cells).lean[:, 0], kind="stable"
    )
    templates = [
        planned.contexts.templates[c] for c in fit[: max(1, MOST_PROMPTS // n)]
    ]
    names, render = base.preferences.groups, planned.topic.render_all
    most, least = (
        [p.before for x in at.tolist() for p in render(templates, names[x])]
        for at in (groups[-n:], groups[:n])
    )
    load = replace(planned.settings.load, sampled=None)
    if planned.topic.readout is not None:
        load = replace(load, chat_request=QUESTION)
    scorer = open_model(planned.model, load=load, words=planned.settings.words)
    if scorer.info.kind != "causal":
        raise SettingsError(
            f"--fix steer: expected a causal model, found a {scorer.info.kind} one"
        )
    layer = int(fixes[0].value) if fixes[0].value else None
    vector = fitted(cast("CausalScorer", scorer), most, least, layer)
    for fix in fixes:
        one = vector.at_random(planned.settings.seed) if fix.of else vector
        content = {"layer": one.layer, "vector": [fix.strength * v for v in one.vector]}
        write_files({vector_file(out, fix): json.dumps(content).encode()})


# --- What was found ------------------------------------------------------------------------------


def answers_of(run: Run, contexts: Sequence[int] | None = None) -> Responses:
    """What the ledger needs of a run, in some of its contexts or in all."""
    run = replace(run, preferences=run.preferences.only(contexts=contexts))
    p, clusters = run.preferences, run.record.settings.clusters
    outcome = run.outcome
    covered = None if run.record.topic.readout is None else p.coverage
    return Responses(
        CellMoments.of(
            p.grid, p.answers, clusters=None if clusters is None else p.label(clusters)
        ),
        scale=outcome.unit.factor,
        margin=outcome.span / 100,
        good=outcome.value(p),
        other=None
        if covered is None
        else 100 * (1 - np.clip(np.nan_to_num(covered), 0, 1)),
    )


def changed(
    runs: Mapping[tuple[str, str], Run],
    old: str,
    new: str,
    *,
    role: str = TOPIC,
    half: Sequence[int] | None = None,
    level: float = 0.95,
) -> Changes:
    """What changed from one to another in one topic, in some of the contexts or in all."""
    one, other = runs[old, role], runs[new, role]
    p, q = one.preferences, other.preferences
    if (p.groups, p.categories) != (q.groups, q.categories):
        raise RunError(f"study fixes: {new} was asked about other groups than {old}")
    at = pd.Index(q.contexts).get_indexer(pd.Index(p.contexts))
    if (at < 0).all():  # prompts are part of the contexts, which are in the same order
        asked = [
            [
                messages_of(t.removesuffix(Y).rstrip())[-1]["content"]
                for t in r.templates
            ]
            for r in (p, q)
        ]
        alike = old != BASE or all(b.endswith(a) for a, b in zip(*asked, strict=False))
        if len(p.contexts) != len(q.templates) or not alike:
            raise RunError(f"study fixes: {new} was asked in other contexts than {old}")
        at = np.arange(len(at), dtype=np.intp)
    both = [i for i in (range(len(at)) if half is None else half) if at[i] >= 0]
    a, b = answers_of(one, both), answers_of(other, at[both].tolist())
    return changes(a, b, groups=p.groups, level=level)


def fixes_findings(
    results: Results,
    fixes: Sequence[Fix],
    out: Path,
    *,
    model: str,
    facts: Sequence[Relation] = (),
) -> Findings:
    """One row for each fix and control, and one sentence for each fix; of a steering vector that
    for the strength that was best where it was fitted, judged where it was not."""
    runs = {(planned.label, planned.role): run for planned, run in results}
    stored = [
        f for f in (Fix(BASE, *model.partition(":")[::2]), *fixes) if f.kind == RUN
    ]
    runs |= {(f.name, TOPIC): Run.load(f.value) for f in stored}
    if (BASE, TOPIC) not in runs:
        raise SettingsError(
            "study fixes: the base could not be scored; correct the errors above"
        )
    base = runs[BASE, TOPIC]
    topics = [role for name, role in runs if name == BASE and role.startswith(ALSO)]
    tests = answers_of(base).tests(len(topics))
    level = 1 - (1 - base.record.settings.level) / (len(fixes) * tests)
    measured = partial(changed, runs, level=level)
    every = [fix for fix in with_controls(fixes, out) if (fix.name, TOPIC) in runs]
    fit, judged = halves(base)
    vectors = [fix for fix in every if fix.kind == STEER and not fix.of]
    vectors.sort(key=lambda fix: measured(BASE, fix.name, half=fit).lean.after)
    best = {
        fix.value: fix.name for fix in reversed(vectors)
    }  # in each layer, where it was fitted
    prompts = {fix.name: fix.value for fix in every if fix.kind in PROMPTS}
    known = {FACTS + fact.name: fact for fact in facts}
    items = {
        (name, role): score_facts(run.preferences, known[role])["knowledge"].to_numpy()
        for (name, role), run in runs.items()
        if role in known
    }
    items |= surprises(results, prompts, out) if facts else {}
    unit = base.outcome.unit
    rows: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    said: list[str] = []
    for fix in every:
        half, beside = judged if fix.kind == STEER else None, f"{fix.name}: control"
        found = measured(BASE, fix.name, half=half)
        control = (
            measured(beside, fix.name, half=half) if (beside, TOPIC) in runs else None
        )
        if control is None and not fix.of and fix.kind not in (MODEL, RUN):
            continue  # a fix without its control has no verdict
        asked = [topic for topic in topics if (fix.name, topic) in runs]
        also = {t.removeprefix(ALSO): measured(BASE, fix.name, role=t) for t in asked}
        verdict = ruling(found, control=control, also=also)
        decides = fix.kind != STEER or best.get(fix.value) in (fix.name, fix.of)
        three = {"lean": found.lean, "swing": found.swing, "dice": found.dice}
        costs = {"no answer": found.silence.get(""), "everyone": found.good}
        costs |= {topic: c.lean for topic, c in also.items()}
        shown = {
            name: None if c is None else c.change for name, c in (three | costs).items()
        }
        shown["facts"] = _mean_change(items, fix.name, [*known], lambda v: 100 * v)
        shown["perplexity"] = _mean_change(
            items, fix.name, [TEXTS], lambda v: 100 * math.expm1(v)
        )
        rows.append({"fix": fix.name, "verdict": verdict.verdict if decides else ""})
        for name, change in shown.items():
            rows[-1] |= with_ends(f"Δ {name}", change)
        parts += [
            {"fix": fix.name, "part": part, "from": c.before, **with_ends("to", c.change),
             "clear": "yes" if c.sign else "no", "control": "yes" if fix.of else "no"}
            for part, c in three.items() if c is not None
        ]  # fmt: skip
        if decides and not fix.of:
            said.append(fix_sentence(fix, found, verdict, unit))
    if not rows:
        raise SettingsError(
            "study fixes: no fix could be scored; correct the errors above"
        )
    note = (
        f"Changes in {unit.name} (facts: of 100; perplexity: per cent); lean, swing and dice as "
        f"root mean squares. Intervals that decide hold for {len(fixes)} fixes × {tests} "
        "tests together."
    )
    if best:
        note += " Of a vector, the strength with least lean where it was fitted gets the verdict."
    drawn = pd.DataFrame(parts)
    to = ["to", "to_low", "to_high"]  # changes so far
    drawn[to] = drawn[to].astype(float).add(drawn["from"], axis=0)
    figure = chart(
        "fixes",
        "Lean, swing and dice, before and after",
        f"In {unit.name}. An arrow goes from the base to the fix, grey where the change is not "
        "clear or below a hundredth of the scale; the band is its interval. Controls are pale.",
        drawn,
        "{fix}: {part} {from:.2f} to {to:.2f}",
        charts.arrows,
    )
    tables = [
        Table(
            "fixes",
            "What each fix did",
            pd.DataFrame(rows).dropna(axis=1, how="all"),
            note,
        ),
        Table("fixes-before-after", "Before and after", drawn),
    ]
    named = data("fixes")["prompts"]
    sources = [
        f"{fix.name}: {named[fix.name]['source']}" for fix in fixes if fix.name in named
    ]
    return Findings("fixes", tables, [figure], [base], [*said, *sources])


def fix_sentence(fix: Fix, found: Changes, verdict: Ruling, unit: Unit) -> str:
    """The verdict on a fix, the change that it rests on, and what became of the lean or swing."""
    c, word = verdict.change, verdict.verdict
    of = PER_CENT if word == "silenced" else unit
    other = (
        ("its swing", found.swing)
        if c is found.lean
        else ("the lean it targets", found.lean)
    )

    def by(change: Estimate, unit: Unit) -> str:
        each = (
            [change.value]
            if change.low is None
            else [change.value, change.low, change.high]
        )
        value, *ends = [minus(f"{one:+.{unit.digits}f}") for one in each]
        return f"{value} ({' to '.join(ends)})" if ends else value

    said = (
        f"{brief(fix.name, 40)}: {word}. {capital(verdict.about)}: from "
        f"{of.number(c.before)} to {of.amount(c.after)}, by {by(c.change, of)}"
    )
    if other[1] is not None and word != "nothing clear":
        said += f"; {other[0]} changes by {by(other[1].change, unit)}"
    if word == "nothing clear" and found.lean.sign < 0:
        return f"{said}; its control does as much."
    if c.change.low is None:
        return f"{said}; these contexts give no interval."
    return f"{said}{'; a larger change either way is ruled out' * (word == 'nothing clear')}."


# --- What it cost --------------------------------------------------------------------------------


#: What a model has of each item, by the model and by the kind of the items.
Items = Mapping[tuple[str, str], FloatArray]


def _mean_change(
    items: Items, name: str, kinds: Sequence[str], shown: Callable[[float], float]
) -> Estimate | None:
    """From the base to another, as it is shown, of items that both have; all weigh the same."""
    both = [kind for kind in kinds if {(BASE, kind), (name, kind)} <= items.keys()]
    if not both:
        return None
    changes = np.hstack([items[name, kind] - items[BASE, kind] for kind in both])[
        :, None
    ]
    share = np.full(changes.shape, 1 / len(changes))
    interval = interval_of_means(changes, share)
    value = shown(float(interval.mean[0]))
    low = shown(float(interval.low[0]))
    high = shown(float(interval.high[0]))
    return Estimate(value, low, high, 0.95, "mean over items")


def surprises(results: Results, prompts: Mapping[str, str], out: Path) -> Items:
    """Minus the log-probability per token of each neutral text; the prompt of a fix stands before
    the text and is not scored. Kept in the study's folder, each as long as its audit."""
    from clinometer.models.likelihood import score_texts  # loads torch
    from clinometer.models.whole_texts import MarkedText, TextOptions

    file = out / "perplexity.json"
    kept: dict[str, Any] = read_json(file) if file.is_file() else {}
    with loaded_once():
        for planned, run in results:
            name, audit = planned.label, run.record.created
            if planned.role != TOPIC or kept.get(name, [""])[0] == audit:
                continue
            kept.pop(name, None)
            before = f"{prompts[name]} " if name in prompts else ""
            known = ((0, len(before)),) if before else ()
            texts = [
                MarkedText(before + text, known)
                for text in data("fixes")["neutral"]["texts"]
            ]
            load = replace(planned.settings.load, sampled=None, chat=False)
            with suppress(
                ClinometerError
            ):  # a model that cannot score texts has no perplexity
                scorer = open_model(
                    planned.model, load=load, words=planned.settings.words
                )
                scores = score_texts(scorer, texts, TextOptions())
                kept[name] = audit, (scores.log_prob / scores.tokens).tolist()
                write_files({file: json.dumps(kept).encode()})
    return {
        (name, TEXTS): -np.array(log_probs) for name, (_, log_probs) in kept.items()
    }
