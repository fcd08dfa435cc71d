"""Fine-tune a causal model on texts, as D.4 does: 2 epochs, 1e-5, warm-up 0.2, batch 1 × 4.

The result is an ordinary model folder (or a LoRA adapter) with a `training.json` that records how
it was made. Interrupted training starts over: it is short compared with the audits.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clinometer.errors import ModelError, SettingsError
from clinometer.extras import require
from clinometer.models import ModelSpec
from clinometer.models.catalog.pretrained import loading, pretrained
from clinometer.models.catalog.resolve import weights_source
from clinometer.ranges import COUNT, POSITIVE, SEED, SHARE_BELOW_1, TOKENS
from clinometer.storage.resumable import Progress
from clinometer.storage.untrusted import read_json

RECORD = "training.json"


@dataclass(frozen=True, kw_only=True)
class Training:
    """The settings of appendix D.4; max_tokens truncates long texts."""

    epochs: float = 2.0
    learning_rate: float = 1e-5
    warmup: float = 0.2
    batch: int = 1
    accumulation: int = 4
    lora: bool = False
    rank: int = 16
    max_tokens: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "learning_rate"):
            POSITIVE.check(name, getattr(self, name))
        SHARE_BELOW_1.check("warmup", self.warmup)
        for name in ("batch", "accumulation", "rank"):
            COUNT.check(name, getattr(self, name))
        TOKENS.check("max_tokens", self.max_tokens)
        SEED.check("seed", self.seed)


def finetuned(
    model: str,
    texts: Sequence[str],
    folder: Path,
    *,
    training: Training,
    progress: Progress | None = None,
) -> Path:
    """The folder of `model` trained on `texts`; trained now unless it exists."""
    wanted = {
        "model": model,
        "texts": len(texts),
        "texts_sha256": hashlib.sha256("\n".join(texts).encode()).hexdigest(),
        "training": asdict(training),
    }
    if (folder / RECORD).is_file():
        with contextlib.suppress(OSError, ValueError, AttributeError):
            there = read_json(folder / RECORD)
            if {k: there.get(k) for k in wanted} == wanted:
                return folder
        raise SettingsError(
            f"{folder}: has a model trained on other texts or with other settings; use another "
            "--out, or --fresh"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".training-"))
    try:
        seen = _train(model, list(texts), work, training, progress)
        (work / RECORD).write_text(json.dumps(wanted | seen, indent=1), encoding="utf-8")
        work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def source_of(model: str) -> str:
    """The folder or hub id behind a model's name; only models with weights can be trained."""
    source = weights_source(ModelSpec.parse(model))
    if source is None:
        raise SettingsError(f"model {model!r}: expected a model with weights to train")
    return source


def _train(
    model: str, texts: list[str], out: Path, training: Training, progress: Progress | None
) -> dict[str, Any]:
    require("fine-tuning", *(["peft"] if training.lora else []), "torch", "transformers")
    import torch
    import transformers

    logging: Any = transformers.utils.logging
    bars, loud = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        return _trained(torch, transformers, model, texts, out, training, progress)
    finally:
        logging.set_verbosity(loud)
        if bars:
            logging.enable_progress_bar()


def _trained(
    torch: Any,
    transformers: Any,
    model: str,
    texts: list[str],
    out: Path,
    training: Training,
    progress: Progress | None,
) -> dict[str, Any]:
    from clinometer.models.local.kinds import detect_kind

    transformers.set_seed(training.seed)
    source = source_of(model)
    with loading(model, source, instead=None):
        tokenizer = pretrained(transformers.AutoTokenizer, source)
        config = pretrained(transformers.AutoConfig, source)
        if (kind := detect_kind(config, model, None)) != "causal":
            raise ModelError(
                f"model {model!r}: expected a causal model to train, found a {kind} one"
            )
        network: Any = pretrained(transformers.AutoModelForCausalLM, source, dtype=torch.float32)
    if training.lora:
        network = _with_lora(network, training.rank)
    rows = [
        tokenizer(t, truncation=True, max_length=training.max_tokens)["input_ids"] for t in texts
    ]
    rows = [row for row in rows if len(row) > 1]
    steps = max(1, round(len(rows) * training.epochs / (training.batch * training.accumulation)))
    arguments = transformers.TrainingArguments(
        output_dir=str(out / "work"),
        num_train_epochs=training.epochs,
        learning_rate=training.learning_rate,
        warmup_steps=round(training.warmup * steps),
        per_device_train_batch_size=training.batch,
        gradient_accumulation_steps=training.accumulation,
        seed=training.seed,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    trainer = transformers.Trainer(
        model=network,
        args=arguments,
        train_dataset=rows,
        data_collator=lambda batch: _collate(batch, tokenizer),
        callbacks=[_watcher(progress, steps)] if progress else None,
    )
    trainer.remove_callback(transformers.PrinterCallback)
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = trainer.train().training_loss
    if not all(torch.isfinite(p).all() for p in network.parameters()):
        raise ModelError(f"model {model!r}: training diverged; use a smaller learning rate")
    network.save_pretrained(out)
    tokenizer.save_pretrained(out)
    shutil.rmtree(out / "work", ignore_errors=True)
    return {
        "loss": float(loss),
        "steps": int(trainer.state.global_step),
        "trained_texts": len(rows),
        "tokens": sum(map(len, rows)),
        "seconds": round(time.monotonic() - start, 1),
    }


def _with_lora(network: Any, rank: int) -> Any:
    import peft

    fan = getattr(network.config, "model_type", "") == "gpt2"
    config = peft.LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        target_modules="all-linear",
        exclude_modules=["lm_head"],
        task_type="CAUSAL_LM",
        fan_in_fan_out=fan,
    )
    return peft.get_peft_model(network, config)


def _collate(batch: list[list[int]], tokenizer: Any) -> dict[str, Any]:
    import torch

    longest = max(map(len, batch))
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    ids = torch.tensor([row + [pad] * (longest - len(row)) for row in batch])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in batch])
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


def _watcher(progress: Progress, steps: int) -> Any:
    import transformers

    class Watcher(transformers.TrainerCallback):  # type: ignore[misc]  # not followed by mypy
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            progress(state.global_step, max(steps, state.global_step))

    return Watcher()
