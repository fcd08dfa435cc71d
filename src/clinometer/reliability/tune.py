"""A LoRA adapter that proposes blanks, trained on expert examples (the paper: 30 of them).

Every example is the conversation of Figure 6 with the expert's points as the answer; the loss
covers only the answer. Use the adapter folder like any other model: `--model FOLDER`.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from clinometer.display.text import to_plain
from clinometer.errors import SettingsError
from clinometer.extras import require
from clinometer.models import LoadOptions
from clinometer.models.catalog.open import open_writer
from clinometer.models.generation.local import CausalWriter
from clinometer.reliability.blanks import points_prompt
from clinometer.reliability.statement import Statement
from clinometer.settings import COUNT, POSITIVE, SEED, check_settings, option
from clinometer.storage.resumable import Progress

RECORD = "training.json"


@dataclass(frozen=True, kw_only=True)
class TuneSettings:
    """How the adapter is trained; LoRA's alpha is twice the rank."""

    epochs: int = option(3, help="Passes over the examples.", allowed=COUNT)
    rank: int = option(8, help="Rank of the adapter.", allowed=COUNT)
    learning_rate: float = option(
        1e-3, help="Learning rate of AdamW; decays to 0 along a cosine.", allowed=POSITIVE
    )
    last_layers: int | None = option(
        None,
        help="Adapt only this many layers from the top, which is much faster.",
        allowed=COUNT,
        unset="all",
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    load: LoadOptions = field(default_factory=LoadOptions)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class Tuned:
    """The adapter's folder, and the mean loss of the answers by epoch."""

    folder: Path
    losses: tuple[float, ...]
    examples: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return to_plain(self)


def tune_points(
    model: str,
    examples: Sequence[Statement],
    out: str | Path,
    *,
    settings: TuneSettings | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Train on statements that have points, and write the adapter to a new folder."""
    settings = settings or TuneSettings()
    folder = Path(out)
    if folder.exists():
        raise SettingsError(f"{folder}: expected a new folder, found one that exists")
    taken = [s for s in examples if s.blanks is not None and len(s.blanks)]
    if not taken:
        raise SettingsError("examples: expected statements with context_points, found none")
    require("training an adapter", "peft")
    writer = open_writer(model, load=settings.load)
    if not isinstance(writer, CausalWriter):
        raise SettingsError(f"model {model!r}: expected a local causal one to train")
    import peft

    started = time.monotonic()
    adapted = _adapted(peft, writer, settings)
    losses = _train(adapted, [_encoded(writer, s) for s in taken], settings, progress)
    tuned = Tuned(folder, losses, len(taken), time.monotonic() - started)
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".training-"))
    try:
        adapted.save_pretrained(work)
        writer.scorer.tokenizer.save_pretrained(work)
        how = asdict(settings) | {"load": settings.load.dtype, "model": model}
        used = [s.id for s in taken]
        record = {"settings": how, "examples": used, "result": tuned.to_dict()}
        (work / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
        work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return tuned


def _adapted(peft: Any, writer: CausalWriter, settings: TuneSettings) -> Any:
    import torch

    model: Any = writer.scorer.model
    layers = int(model.config.num_hidden_layers)
    chosen = None
    if settings.last_layers is not None:
        chosen = list(range(max(0, layers - settings.last_layers), layers))
    torch.manual_seed(settings.seed)  # peft initialises its matrices from the global generator
    how = peft.LoraConfig(
        r=settings.rank,
        lora_alpha=2 * settings.rank,
        target_modules=_linear_names(model),
        layers_to_transform=chosen,
        task_type="CAUSAL_LM",
    )
    return peft.get_peft_model(model, how)


def _linear_names(model: Any) -> list[str]:
    """Names of the linear modules inside the layers (q_proj, …)."""
    import torch

    output = model.get_output_embeddings()
    names = {
        name.rpartition(".")[2]
        for name, part in model.named_modules()
        if isinstance(part, torch.nn.Linear) and part is not output
    }
    if not names:
        raise SettingsError(
            f"model {type(model).__name__}: expected linear layers to adapt, found none (GPT-2 "
            "uses Conv1D layers instead): train another model"
        )
    return sorted(names)


def _encoded(writer: CausalWriter, statement: Statement) -> tuple[list[int], int]:
    """Tokens of the whole conversation, and how many of them come before the answer."""
    tokenizer: Any = writer.scorer.tokenizer
    head = writer.head(points_prompt(statement.text))
    answer = (statement.points or "").replace("___", "____")
    spaced = answer if getattr(tokenizer, "chat_template", None) else f" {answer}"
    ids = list(tokenizer.encode(spaced, add_special_tokens=False))
    return [*head, *ids, tokenizer.eos_token_id], len(head)


def _train(
    model: Any,
    rows: Sequence[tuple[list[int], int]],
    settings: TuneSettings,
    progress: Progress | None,
) -> tuple[float, ...]:
    import numpy as np
    import torch

    trained = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=settings.learning_rate, weight_decay=0.0)
    steps = settings.epochs * len(rows)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: 0.5 * (1.0 + math.cos(math.pi * min(1.0, step / steps)))
    )
    chance = np.random.default_rng(settings.seed)
    losses, done = [], 0
    model.train()
    for _ in range(settings.epochs):
        total = 0.0
        for number in chance.permutation(len(rows)).tolist():
            ids, begin = rows[number]
            tokens = torch.tensor([ids], device=model.device)
            answer = len(ids) - begin
            logits = model(input_ids=tokens, logits_to_keep=answer + 1).logits[0, :-1]
            loss: Any = torch.nn.functional.cross_entropy(logits.float(), tokens[0, begin:])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
            total += float(loss.detach())
            done += 1
            if progress:
                progress(done, steps)
        losses.append(total / len(rows))
    model.eval()
    return tuple(losses)
