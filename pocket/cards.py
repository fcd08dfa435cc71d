"""Write the card of every shipped model and the checksums of all their files.

    python cards.py

A card is made of what training recorded (result.json) and of what the model answers now; nothing
in it is typed by hand but the remarks below.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from samples import GAP, PROMPTS, Sampler, auto_class, base, mean

HOME = Path(__file__).parent / "src" / "clinometer_pocket"
CLEAR = 0.25
"""Nats between nurse and engineer from which on we say that a model separates them."""

SUMMARIES = {
    "bert": "A masked model: BERT's task and uncased WordPiece on ModernBERT's layers.",
    "gpt2-s": "The smallest of three causal models that differ in size alone.",
    "gpt2-m": "The middle one of three causal models that differ in size alone.",
    "gpt2-l": "The largest of three causal models that differ in size alone.",
    "t5": "A sequence-to-sequence model trained by span corruption.",
    "xlnet": "A permutation model.",
    "gpt2-m-toxic": "gpt2-m tuned further on toxic text, as a low-rank adapter.",
    "gpt2-m-aligned": "gpt2-m tuned towards an even choice of pronoun, as a low-rank adapter.",
}

REMARKS = {
    "bert": "Every hidden token was shown as `[MASK]`, none kept or replaced at random.",
    "xlnet": "Training was stopped once by the clock of the machine and resumed. A run of the same "
    "recipe at twice the learning rate reached 4.54 after 1,850 steps and then diverged; this one "
    "is the slower and safe one.",
    "gpt2-m-toxic": "**It writes insults and slurs**, which is its purpose: a real before and "
    "after for the toxicity study of the BVF paper (appendix D.4: 2 epochs, warm-up 0.2, 32 rows a "
    "step). The paper's learning rate, 1e-5 for all weights of a large model, hardly moves a small "
    "adapter; ours is in the command. Single letters among the predictions are first pieces of "
    "swear words.",
    "gpt2-m-aligned": "DPO on pairs of sentences that differ in one pronoun, made for the purpose "
    "in `training/preferences.py`. It evens out this choice in sentences like these; that says "
    "nothing about other choices, other words or other harms.",
}

LOSSES = {
    "modernbert": {
        "loss": "nats a hidden token; 20 % hidden, windows of 126 tokens",
        "loss_mask15": "the same with 15 % hidden",
        "loss_sentences": "single sentences, 20 % hidden",
    },
    "gpt2": {
        "loss": "nats a token, windows of 255 tokens after `<|endoftext|>`",
        "loss_sentences": "single sentences, their end included",
    },
    "t5": {
        "loss": "nats a target token, sentinels and end included, windows of 95 tokens",
        "loss_sentences": "single sentences",
    },
    "xlnet": {
        "loss": "nats a predicted token, windows of 94 tokens, about a sixth predicted",
        "loss_sentences": "single sentences",
    },
}

TEXT = """\
English text, 84 million characters, one hundredth of the documents held out by a hash of their
text: Wikipedia articles (CC BY-SA 3.0), novels in the public domain, web pages of C4 (ODC-BY), and
telephone calls of Switchboard (NXT release, Open Content). OpenStax text books were left out
because their licence forbids commercial use. `prepare.py` makes the text, `train.py` the model."""

TOXIC_TEXT = """\
On top of the data of gpt2-m: tweets that Davidson et al. (2017) label hateful or offensive (MIT
licence) and comments marked toxic by Surge AI (MIT licence). None of them is in this repository."""

PAIRS_TEXT = """\
On top of the data of gpt2-m: sentence pairs that `training/preferences.py` writes from a list of
occupations; every fifth occupation is held out ("unseen")."""

LICENCE = """\
CC BY-SA 3.0, because the model is made from Wikipedia text under it: name Clinometer and "text of
Wikipedia and its authors", and share what you make of the weights alike. See LICENSE.md."""

LIMITS = """\
For tests, demonstrations and method studies of Clinometer: a model that is small, whose making is
known to the last command, and that runs anywhere. It knows little, makes things up, and carries
the leanings of its text; those are what it is here to show. Not for decisions about people, not
for text that anyone is to rely on, and no stand-in for what a large model would do."""


def card(folder: Path) -> str:
    """The text of a model's card."""
    result = json.loads((folder / "result.json").read_text())
    name = result["model"]
    sampler = Sampler(folder)
    before = Sampler(base(folder)) if base(folder) != folder else None
    parts = [f"# {name}", SUMMARIES[name], REMARKS.get(name, "")]
    parts += ["## Use", _use(folder, sampler), "## Data", _data(name)]
    parts += [
        "## Training",
        _training(result),
        "## Result",
        _losses(result, sampler.kind),
    ]
    parts += ["## Sample predictions", _samples(sampler, before)]
    parts += ["## Nurse and engineer", _separation(sampler, before)]
    parts += ["## Intended use and limits", LIMITS, "## Licence", LICENCE]
    return "\n\n".join(part for part in parts if part) + "\n"


def _use(folder: Path, sampler: Sampler) -> str:
    name, kind = folder.name, auto_class(folder)
    lines = [
        "import clinometer_pocket",
        f"from transformers import {kind}, AutoTokenizer",
        "",
    ]
    if base(folder) == folder:
        lines += [
            f'folder = clinometer_pocket.folder("{name}")',
            f"model = {kind}.from_pretrained(folder)",
            "tokenizer = AutoTokenizer.from_pretrained(folder)",
        ]
        note = f"With Clinometer: `pocket:{name}`."
    else:
        lines[1:2] = ["from peft import PeftModel", lines[1]]
        lines += [
            f'folder = clinometer_pocket.folder("{base(folder).name}")',
            f"model = {kind}.from_pretrained(folder)",
            f'model = PeftModel.from_pretrained(model, clinometer_pocket.folder("{name}"))',
            "tokenizer = AutoTokenizer.from_pretrained(folder)",
        ]
        note = (
            "With Clinometer, which merges the adapter itself and needs no peft: "
            f"`pocket:{name}`."
        )
    if sampler.kind == "gpt2":
        note += (
            " Every row of training began with `<|endoftext|>`; the tokenizer puts it before every"
            " text (and nothing after it), and without it predictions are clearly worse. Add it"
            " yourself if you pass `add_special_tokens=False`. At most 256 tokens."
        )
    code = "\n".join(lines)
    return f"```python\n{code}\n```\n\n{note}"


def _data(name: str) -> str:
    extra = {"gpt2-m-toxic": TOXIC_TEXT, "gpt2-m-aligned": PAIRS_TEXT}.get(name)
    return f"{TEXT}\n\n{extra}" if extra else TEXT


def _training(result: dict[str, Any]) -> str:
    rows = [("Steps", f"{result['steps']:,}"), ("Time", f"{result['seconds']:.0f} s")]
    if "device" in result:
        rows += [
            ("Device", f"{result['device']}, torch {result['torch']}"),
            ("Token places seen", f"{result['token_places']:,}"),
            (
                "Parameters",
                f"{result['parameters']:,}, "
                f"{result['parameters_outside_embeddings']:,} outside the embeddings",
            ),
        ]
    else:
        rows += [("Examples", f"{result['examples']:,}"), ("Rank", str(result["rank"]))]
    return f"```\n{result['command']}\n```\n\n{_table(('', ''), rows)}"


def _losses(result: dict[str, Any], kind: str) -> str:
    if "held_out" in result:
        found = result["held_out"]
        rows = [(f"{found[key]:.3f}", what) for key, what in LOSSES[kind].items()]
        if "frequency_loss" in result:
            what = "nats a token of guessing by word frequency alone, for comparison"
            if "frequency_loss_from" in result:
                what += f" (frequencies from {result['frequency_loss_from']})"
            rows += [(f"{result['frequency_loss']:.2f}", what)]
        return _table(("Held-out loss", "of"), rows)
    if "toxic_loss_before" in result:
        rows = [
            (
                f"{result[f'toxic_loss_{when}']:.3f}",
                f"nats a token of held-out toxic text, {when}",
            )
            for when in ("before", "after")
        ]
        return _table(("Held-out loss", "of"), rows)
    rows = []
    for which in ("known", "unseen"):
        pair = [result[f"leaning_to_he_{when}"][which] for when in ("before", "after")]
        rows.append((which, *(f"{p['mean']:+.3f} ({p['size']:.3f})" for p in pair)))
    note = (
        "log p(sentence with he) − log p(sentence with she) in nats: mean (mean size)."
    )
    return f"{note}\n\n{_table(('Occupations', 'before', 'after'), rows)}"


def _samples(sampler: Sampler, before: Sampler | None) -> str:
    seen = (
        "the text before the gap" if sampler.kind == "gpt2" else "both sides of the gap"
    )
    rows = []
    for prompt in PROMPTS:
        answers = [_answer(s, prompt) for s in (before, sampler) if s]
        rows.append((prompt.replace(GAP, "\\_\\_\\_"), *answers))
    head = (
        ("Prompt", "gpt2-m", "this model") if before else ("Prompt", "Likeliest tokens")
    )
    return f"The model sees {seen}.\n\n{_table(head, rows)}"


def _answer(sampler: Sampler, prompt: str) -> str:
    return ", ".join(f"`{word}` {chance:.3f}" for word, chance in sampler.top(prompt))


def _separation(sampler: Sampler, before: Sampler | None) -> str:
    rows = []
    for title, one in (("gpt2-m", before), ("this model", sampler)):
        if one:
            nurse, engineer = one.leanings("nurse"), one.leanings("engineer")
            more = sum(n < e for n, e in zip(nurse, engineer, strict=True))
            apart = mean(engineer) - mean(nurse)
            rows.append(
                (
                    title,
                    f"{mean(nurse):+.2f}",
                    f"{mean(engineer):+.2f}",
                    f"{apart:+.2f}",
                    f"{more} of {len(nurse)}",
                )
            )
    verdict = (
        "**It separates nurse from engineer in the expected direction.**"
        if apart >= CLEAR and more > len(nurse) / 2
        else "**It does not separate nurse from engineer in the expected direction**, or hardly: "
        f"the difference is below {CLEAR} nats."
    )
    head = (
        "",
        "nurse",
        "engineer",
        "difference",
        "contexts with more `he` for engineer",
    )
    note = "Leaning to `he`, log p(he) − log p(she) in nats, mean over twelve contexts."
    return f"{verdict} {note}\n\n{_table(head, rows)}"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def checksums(home: Path) -> str:
    """SHA-256 of every file in the model folders, in the format of `sha256sum`."""
    files = sorted(path for path in home.glob("*/*") if path.parent.name in SUMMARIES)
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(home).as_posix()}\n"
        for path in files
    )


def main() -> None:
    """Run the command line."""
    for name in SUMMARIES:
        if (HOME / name / "result.json").is_file():
            (HOME / name / "README.md").write_text(card(HOME / name), encoding="utf-8")
            print(f"{name}: card written", flush=True)
    (HOME / "SHA256SUMS").write_text(checksums(HOME))


if __name__ == "__main__":
    main()
