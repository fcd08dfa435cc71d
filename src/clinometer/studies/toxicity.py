"""Figure 6: a causal model before and after fine-tuning on toxic text, in the same contexts."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clinometer.errors import ModelError, RunError, SettingsError, TableError
from clinometer.extras import require
from clinometer.models import ModelSpec
from clinometer.models.catalog.pretrained import loading, pretrained
from clinometer.models.catalog.weights import weights_source
from clinometer.runs import AuditSettings
from clinometer.settings import (
    COUNT,
    POSITIVE,
    SEED,
    SHARE_BELOW_1,
    TOKENS,
    check_settings,
    option,
)
from clinometer.storage.resumable import Progress
from clinometer.storage.rows import read_rows, reading
from clinometer.storage.untrusted import open_text, read_json
from clinometer.studies.alignment import version_findings
from clinometer.studies.framework import (
    Findings,
    Plan,
    Results,
    planned_runs,
    study_contexts,
)
from clinometer.topics import Topic

RECORD = "training.json"
"""The file that says how a model was trained."""

_TEXTS_PER_STEP = 32
"""The paper's: eight processes with a batch of 1 and 4 steps of accumulation."""

_USUAL = ("text", "tweet", "comment", "comment_text", "sentence")
"""Text columns of published collections."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """The settings of appendix D.4, whose 32 texts per optimizer step are accumulated here.

    The cut of long texts is ours: the paper names no length.
    """

    epochs: float = option(2.0, help="Passes over the texts.", allowed=POSITIVE)
    learning_rate: float = option(1e-5, help="Peak learning rate.", allowed=POSITIVE)
    warmup: float = option(
        0.2, help="Share of steps for learning-rate warmup.", allowed=SHARE_BELOW_1
    )
    batch: int = option(1, help="Texts per batch.", allowed=COUNT)
    accumulation: int | None = option(
        None,
        help="Batches per optimizer step.",
        allowed=COUNT,
        unset="32 texts together, the paper's 8 × 1 × 4",
    )
    max_tokens: int = option(
        64,
        help="Truncate texts to this many tokens (the paper names no length).",
        allowed=TOKENS,
    )
    lora: bool = option(False, help="Train only a LoRA adapter.")
    rank: int = option(16, help="Rank of the adapter.", allowed=COUNT)
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self)
        SEED.check("seed", self.seed)


def finetuned(
    model: str,
    texts: Sequence[str],
    folder: Path,
    *,
    training: Training,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Return the folder of `model` trained on `texts`; trained now unless it exists, or `fresh`."""
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise SettingsError(
            "study toxicity: expected one process, found several of torchrun, which would each "
            "train alone; start it without torchrun"
        )
    wanted = {
        "model": model,
        "texts": len(texts),
        "texts_sha256": hashlib.sha256("\n".join(texts).encode()).hexdigest(),
        "training": asdict(training),
    }
    if (folder / RECORD).is_file() and not fresh:
        if _was_trained_so(folder, wanted):
            return folder
        raise SettingsError(
            f"{folder}: has a model trained on other texts or with other settings; use another "
            "--out, or --fresh"
        )
    adapters = ["peft"] if training.lora else []
    require("fine-tuning", *adapters, "torch", "transformers")
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".training-"))
    try:
        with _silent():
            outcome = _train(model, texts, work, training, progress)
        record = json.dumps(wanted | outcome, indent=1)
        (work / RECORD).write_text(record, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def _was_trained_so(folder: Path, wanted: Mapping[str, Any]) -> bool:
    """Return whether the record of a trained model says what is wanted."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        record = read_json(folder / RECORD)
        return all(record.get(key) == value for key, value in wanted.items())
    return False


def source_of(model: str) -> str:
    """Return the folder or hub id behind a model's name; only models with weights can be
    trained."""
    source = weights_source(ModelSpec.parse(model))
    if source is None:
        raise SettingsError(f"model {model!r}: expected a model with weights to train")
    return source


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep transformers from showing bars and warnings, for as long as the block lasts."""
    import transformers

    logging: Any = transformers.utils.logging
    has_bars = logging.is_progress_bar_enabled()
    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if has_bars:
            logging.enable_progress_bar()


def _train(
    model: str,
    texts: Sequence[str],
    out: Path,
    training: Training,
    progress: Progress | None,
) -> dict[str, Any]:
    """Train a model on texts, write it with its tokenizer to `out`, and return what happened."""
    import torch
    import transformers

    transformers.set_seed(training.seed)
    network, tokenizer = _load_network(model)
    if training.lora:
        network = _with_adapter(network, training.rank)
    encoded = tokenizer(list(texts), truncation=True, max_length=training.max_tokens)
    rows = [row for row in encoded["input_ids"] if len(row) > 1]
    arguments = _trainer_arguments(training, out / "work")

    class Watcher(transformers.TrainerCallback):  # type: ignore[misc]  # not followed by mypy
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if progress:
                progress(state.global_step, max(state.max_steps, state.global_step))

    trainer = transformers.Trainer(
        model=network,
        args=arguments,
        train_dataset=rows,
        data_collator=lambda batch: _collate(batch, tokenizer),
        callbacks=[Watcher()],
    )
    trainer.remove_callback(transformers.PrinterCallback)
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = trainer.train().training_loss
    if not all(torch.isfinite(p).all() for p in network.parameters()):
        raise ModelError(
            f"model {model!r}: training diverged; use a smaller learning rate"
        )
    network.save_pretrained(out)
    tokenizer.save_pretrained(out)
    shutil.rmtree(out / "work", ignore_errors=True)
    return {
        "loss": float(loss),
        "steps": int(trainer.state.global_step),
        "warmup_steps": arguments.get_warmup_steps(trainer.state.max_steps),
        "accumulation": arguments.gradient_accumulation_steps,
        "trained_texts": len(rows),
        "tokens": sum(map(len, rows)),
        "seconds": round(time.monotonic() - start, 1),
    }


def _trainer_arguments(training: Training, folder: Path) -> Any:
    """Return the settings as the trainer takes them."""
    import transformers

    from clinometer.models.local.load import choose_device

    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=training.epochs,
        learning_rate=training.learning_rate,
        warmup_steps=training.warmup,  # below 1: a share of the steps
        per_device_train_batch_size=training.batch,
        seed=training.seed,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=choose_device("auto").type == "cpu",
        dataloader_pin_memory=False,
    )
    texts_at_once = training.batch * max(1, arguments.n_gpu)
    paper = max(1, round(_TEXTS_PER_STEP / texts_at_once))
    arguments.gradient_accumulation_steps = training.accumulation or paper
    return arguments


def _load_network(model: str) -> tuple[Any, Any]:
    """Return a causal model and its tokenizer."""
    import torch
    import transformers

    from clinometer.models.local.load import detect_kind

    source = source_of(model)
    with loading(model, source, instead=None):
        tokenizer = pretrained(transformers.AutoTokenizer, source)
        config = pretrained(transformers.AutoConfig, source)
        kind = detect_kind(config, model, None)
        if kind != "causal":
            raise ModelError(
                f"model {model!r}: expected a causal model to train, found a {kind} one"
            )
        network = pretrained(
            transformers.AutoModelForCausalLM, source, dtype=torch.float32
        )
    return network, tokenizer


def _with_adapter(network: Any, rank: int) -> Any:
    """Return a model of which only a LoRA adapter is trained."""
    import peft

    adapter = peft.LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        target_modules="all-linear",
        exclude_modules=["lm_head"],
        task_type="CAUSAL_LM",
        fan_in_fan_out=getattr(network.config, "model_type", "") == "gpt2",
    )
    return peft.get_peft_model(network, adapter)


def _collate(batch: list[list[int]], tokenizer: Any) -> dict[str, Any]:
    """Return a batch of token ids, padded on the right; padding is neither read nor learnt."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    rows = [torch.tensor(row) for row in batch]
    ones = [torch.ones_like(row) for row in rows]
    pad = tokenizer.pad_token_id or 0
    token_ids = pad_sequence(rows, batch_first=True, padding_value=pad)
    attention_mask = pad_sequence(ones, batch_first=True, padding_value=0)
    return {
        "input_ids": token_ids,
        "attention_mask": attention_mask,
        "labels": token_ids.masked_fill(attention_mask == 0, -100),
    }


def toxicity_plan(
    model: str,
    out: Path,
    *,
    topic: Topic,
    contexts: str | None,
    settings: AuditSettings,
) -> Plan:
    """Plan the model, and the folder of its fine-tuned version, which is made in between."""
    chosen = study_contexts(topic, contexts)
    (planned,) = planned_runs([model], topic, chosen, settings)
    before = replace(planned, label=f"{model} before", folder="before")
    trained = str(out / "model")
    after = replace(planned, model=trained, label=f"{model} after", folder="after")
    return Plan("toxicity", [before, after])


def toxicity_findings(results: Results, *, texts: int, training: Training) -> Findings:
    """Return what changed in the risks and in the leaning of groups, in either direction."""
    if len(results) != 2:
        raise RunError(
            "study toxicity: expected the model scored before and after, found one of them; rerun "
            "the same command"
        )
    weights = f"LoRA of rank {training.rank}" if training.lora else "all weights"
    per_step = f"{_TEXTS_PER_STEP} texts"
    if training.accumulation is not None:
        per_step = f"batch {training.batch} × {training.accumulation} texts"
    training_sentence = (
        f"Fine-tuned on {texts:,} texts: {weights}, {training.epochs:g} epochs, learning rate "
        f"{training.learning_rate:g}, warm-up {training.warmup:g}, {per_step} per step, texts "
        f"truncated to {training.max_tokens} tokens (ours: the paper names no length)."
    )
    family = [(planned.label, run) for planned, run in results]
    return version_findings("toxicity", [family], [training_sentence])


def read_texts(paths: Sequence[Path], *, where: Sequence[str] = ()) -> list[str]:
    """Read all texts of the files, in order.

    `where` selects rows: "class=0,1" or "is_toxic=Toxic"; a condition on a column that a file lacks
    is ignored for that file.
    """
    conditions = [_read_condition(text) for text in where]
    texts = []
    for path in paths:
        for row in _texts_of_file(path, conditions):
            text = " ".join(row.split())
            if text:
                texts.append(text)
    if not texts:
        raise TableError("texts: no row is left; check --where")
    return texts


def some_of(texts: Sequence[str], n: int | None, *, seed: int) -> list[str]:
    """Return n texts sampled without replacement, in random order; all of them without n."""
    order = np.random.default_rng(seed).permutation(len(texts))
    size = len(texts) if n is None else n
    return [texts[i] for i in order[:size]]


class _Condition(NamedTuple):
    """Which values a column must have."""

    column: str
    values: set[str]


def _texts_of_file(path: Path, conditions: Sequence[_Condition]) -> Iterator[str]:
    """Read the lines of a .txt file, or the texts of the rows of a table that meet conditions."""
    if path.suffix == ".txt":
        with reading(path, TableError), open_text(path) as lines:
            yield from lines
        return
    for row in read_rows(path):
        text_column = next((name for name in _USUAL if name in row), None)
        if text_column is None:
            raise TableError(
                f"{path}: expected a column with texts ({', '.join(_USUAL)}), found "
                f"{', '.join(filter(None, row))}"  # None: of a row that is too long
            )
        applicable = [c for c in conditions if c.column in row]
        if all(str(row[c.column]) in c.values for c in applicable):
            yield str(row[text_column])


def _read_condition(text: str) -> _Condition:
    """Read a condition as it is typed: COLUMN=VALUE,VALUE."""
    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise TableError(f"--where: expected COLUMN=VALUE,VALUE,…; found {text!r}")
    return _Condition(name.strip(), {value.strip() for value in values.split(",")})
