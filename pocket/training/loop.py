"""The training loop: seeded batches, a schedule by steps or by the clock, held-out loss."""

from __future__ import annotations

import dataclasses
import json
import platform
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from . import checkpoint
from .data import Rows, Stream, frequency_loss
from .objectives import Masked, Objective
from .optimizers import make_optimizers, rate
from .recipes import Recipe

LOG_EVERY = 100
SAVE_SECONDS = 90.0
EVALUATIONS = 8
STRETCH_EVERY = 10


@dataclasses.dataclass(frozen=True)
class Budget:
    """How long to train: a number of steps, or a number of minutes; exactly one is given."""

    steps: int | None = None
    minutes: float | None = None

    def progress(self, step: int, seconds: float) -> float:
        """Share of the budget that is used, from 0 to 1."""
        if self.steps is not None:
            return min(1.0, step / self.steps)
        return min(1.0, seconds / (60.0 * (self.minutes or 0.0)))


def compile_layers(model: PreTrainedModel) -> None:
    """Compile the repeated blocks one by one: all share one compiled code, so it takes seconds."""
    torch._dynamo.config.recompile_limit = 32
    torch._dynamo.config.suppress_errors = True  # what does not compile runs as it is
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and len(module) > 1:
            for block in module:
                block.compile(dynamic=False)


class Trainer:
    """Trains one model on one stream; `run` does it all."""

    def __init__(
        self,
        name: str,
        recipe: Recipe,
        *,
        tokenizer: PreTrainedTokenizerFast,
        train: Stream,
        held_out: Stream,
        out: Path,
        seed: int,
    ) -> None:
        torch.manual_seed(seed)
        self.name, self.recipe, self.tokenizer = name, recipe, tokenizer
        self.stream, self.held_out = train, held_out
        self.out, self.seed = out, seed
        self.device = train.device
        self.objective: Objective = recipe.objective(tokenizer)
        self.model = recipe.build().to(self.device)
        self.optimizers = make_optimizers(self.model, recipe)
        self.generator = torch.Generator(self.device)
        self.step = 0
        self.seconds = 0.0
        self.tokens = 0
        self.history: list[dict[str, float]] = []
        self.stopped = False
        self.evaluated = 0

    def resume(self) -> None:
        """Go on from the checkpoint under the output folder, if there is one."""
        folder = self.out / "checkpoint"
        if folder.is_dir():
            state = checkpoint.restore(folder, self.model, self.optimizers)
            self.step, self.seconds = state["step"], state["seconds"]
            self.tokens, self.history = state["tokens"], state["history"]
            self.evaluated = len(self.history)

    def run(self, budget: Budget, *, facts: dict[str, Any]) -> dict[str, Any]:
        """Train until the budget is used or a signal stops it; write everything; return a result.

        `facts` (the command, the text) go into result.json as they are.
        """
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "stopped", True))
        if self.device.type == "cuda":
            self._warm_up()
        begin = time.monotonic() - self.seconds
        saved = time.monotonic()
        losses: list[torch.Tensor] = []
        logged = (self.seconds, self.tokens)
        while (
            progress := budget.progress(self.step, self.seconds)
        ) < 1.0 and not self.stopped:
            losses.append(self._update(progress=progress))
            self.tokens += self._tokens_per_step()
            self.step += 1
            if self.step % 10 == 0 or budget.steps is not None:
                self.seconds = time.monotonic() - begin
            if self.step % LOG_EVERY == 0:
                loss = float(torch.stack(losses).mean())  # waits for the device
                self.seconds = time.monotonic() - begin
                speed = (self.tokens - logged[1]) / (self.seconds - logged[0])
                self._say(f"{progress:6.1%} loss {loss:.4f} {speed:,.0f} tokens/s")
                losses, logged = [], (self.seconds, self.tokens)
            if int(progress * EVALUATIONS) > self.evaluated:
                self.evaluated = int(progress * EVALUATIONS)
                self.history.append({"step": self.step, **self.evaluate()})
                self._say(f"held out {self.history[-1]}")
            if time.monotonic() - saved > SAVE_SECONDS:
                self._save()
                saved = time.monotonic()
        return self._finish(budget, facts)

    def _warm_up(self) -> None:
        """Compile for the shapes to come; nothing but the compiled code is kept."""
        torch.set_float32_matmul_precision("high")
        compile_layers(self.model)
        self.model.train()
        for stretched in (False, True) if self.recipe.stretched else (False,):
            self._loss(stretched=stretched).backward()
        self.model.zero_grad(set_to_none=True)

    def evaluate(self) -> dict[str, float]:
        """Held-out losses in nats: running text, single sentences, and BERT's 15 % masking."""
        long, short = self.recipe.long, self.recipe.short
        found = {
            "loss": self._mean_loss(
                self.objective, self.held_out.windows(long.rows, long.width)
            ),
            "loss_sentences": self._mean_loss(
                self.objective, self.held_out.whole_sentences(short.rows, short.width)
            ),
        }
        if isinstance(self.objective, Masked):
            fewer = dataclasses.replace(self.objective, rate=0.15)
            found["loss_mask15"] = self._mean_loss(
                fewer, self.held_out.windows(long.rows, long.width)
            )
        return {name: round(value, 4) for name, value in found.items()}

    def _mean_loss(self, objective: Objective, batches: Iterable[Rows]) -> float:
        generator = torch.Generator(self.device).manual_seed(1)
        self.model.eval()
        total = torch.zeros((), device=self.device)
        count = torch.zeros((), device=self.device)
        # Evaluation has its own shapes; compiling for them would cost more than it saves.
        with (
            torch.no_grad(),
            self._autocast(),
            torch.compiler.set_stance("force_eager"),
        ):
            for rows in batches:
                part, predictions = objective.loss(self.model, rows, generator)
                total, count = total + part, count + predictions
        self.model.train()
        return float(total / count)

    def _update(self, *, progress: float) -> torch.Tensor:
        """One optimizer step on the batch that the seed and the step number determine."""
        self.model.train()
        self.generator.manual_seed(self.seed * 1_000_003 + self.step)
        loss = self._loss(stretched=self._stretched())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        now = rate(
            progress, peak=self.recipe.learning_rate, warm_up=self.recipe.warm_up
        )
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = now
            optimizer.step()
        self.model.zero_grad(set_to_none=True)
        return loss.detach()

    def _loss(self, *, stretched: bool) -> torch.Tensor:
        long = (
            self.recipe.stretched
            if stretched and self.recipe.stretched
            else self.recipe.long
        )
        short = self.recipe.short
        parts = (
            self.stream.long_rows(long.rows, long.width, self.generator),
            self.stream.short_rows(short.rows, short.width, self.generator),
        )
        with self._autocast():
            sums = [
                self.objective.loss(self.model, rows, self.generator) for rows in parts
            ]
        return sum(total for total, _ in sums) / sum(count for _, count in sums)

    def _stretched(self) -> bool:
        return (
            self.recipe.stretched is not None
            and self.step % STRETCH_EVERY == STRETCH_EVERY - 1
        )

    def _tokens_per_step(self) -> int:
        long = self.recipe.stretched if self._stretched() else self.recipe.long
        assert long is not None  # noqa: S101
        short = self.recipe.short
        return long.rows * long.width + short.rows * short.width

    def _autocast(self) -> torch.autocast:
        return torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda"
        )

    def _say(self, message: str) -> None:
        print(
            f"[{self.name}] {self.seconds:6.1f} s step {self.step:6d} {message}",
            flush=True,
        )

    def _save(self) -> None:
        state = {"step": self.step, "seconds": self.seconds, "tokens": self.tokens}
        checkpoint.save(
            self.out / "checkpoint",
            self.model,
            self.optimizers,
            {**state, "history": self.history},
        )
        checkpoint.export(self.out / self.name, self.model, self.tokenizer)

    def _finish(self, budget: Budget, facts: dict[str, Any]) -> dict[str, Any]:
        self._save()
        on_gpu = self.device.type == "cuda"
        result = {
            "model": self.name,
            "finished": not self.stopped,
            "held_out": self.evaluate(),
            "frequency_loss": round(
                frequency_loss(
                    self.stream.tokens, self.held_out.tokens, words=len(self.tokenizer)
                ),
                2,
            ),
            "steps": self.step,
            "seconds": round(self.seconds, 1),
            "token_places": self.tokens,
            "seed": self.seed,
            "budget": dataclasses.asdict(budget),
            "parameters": self.model.num_parameters(),
            "parameters_outside_embeddings": self.model.num_parameters(
                exclude_embeddings=True
            ),
            "training_tokens": len(self.stream.tokens),
            "held_out_tokens": len(self.held_out.tokens),
            "device": torch.cuda.get_device_name() if on_gpu else platform.machine(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            **facts,
            "history": self.history,
        }
        (self.out / self.name / "result.json").write_text(
            json.dumps(result, indent=2) + "\n"
        )
        self._say(f"held out {result['held_out']}")
        return result
