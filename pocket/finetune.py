"""Make the two descendants of a pocket GPT-2 as low-rank adapters.

    python finetune.py toxic --base FOLDER --text TOXICITY --out FOLDER
    python finetune.py aligned --base FOLDER --out FOLDER

`toxic` follows appendix D.4 of the BVF paper: 2 epochs, learning rate 1e-5, warm-up over 0.2 of
the steps, 8 devices with batch 1 and 4 accumulation steps, which is 32 rows a step. Its learning
rate was made for seven billion parameters all of which are trained; a tiny adapter hardly moves
at it, so pass --rate and say so. `aligned` is preference tuning (DPO): training/preferences.py.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from training import lora, preferences, toxic
from training.optimizers import rate
from training.preferences import Pair, pairs

IGNORE = -100
SETTINGS = ("epochs", "rate", "warm_up", "rows", "beta", "rank", "seed")
Tokenizer = Any


class Tuning:
    """A base model with fresh corrections, its optimizer, and the steps both kinds share."""

    def __init__(self, options: argparse.Namespace) -> None:
        torch.manual_seed(options.seed)
        self.options = options
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.tokenizer: Tokenizer = AutoTokenizer.from_pretrained(options.base)
        self.model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
            options.base, dtype=torch.float32
        ).to(self.device)
        self.model.eval()  # no dropout: the reference of DPO and the policy must agree at first
        self.end: int = self.tokenizer.eos_token_id
        self.batches = random.Random(options.seed)  # noqa: S311
        self.parameters: list[torch.nn.Parameter] = []
        self.step = self.steps = 0

    def attach(self, rows: int) -> None:
        """Add the corrections and an optimizer for so many rows in all epochs."""
        self.parameters = lora.attach(
            self.model, rank=self.options.rank, alpha=2 * self.options.rank
        )
        self.optimizer = torch.optim.AdamW(self.parameters, lr=0.0, weight_decay=0.0)
        self.steps = self.options.epochs * -(-rows // self.options.rows)

    def update(self, loss: torch.Tensor) -> None:
        """One optimizer step at the rate of the schedule."""
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = rate(
                (self.step - 0.5) / self.steps,
                peak=self.options.rate,
                warm_up=self.options.warm_up,
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.step % 100 == 0:
            print(
                f"step {self.step} of {self.steps}: loss {float(loss.detach()):.4f}",
                flush=True,
            )

    def log_probabilities(self, texts: Sequence[tuple[str, str]]) -> torch.Tensor:
        """Sum of log p(continuation | end-of-text, prompt) of each (prompt, continuation)."""
        rows = []
        for prompt, continuation in texts:
            before = [self.end, *self._encode(prompt)]
            after = self._encode(continuation)
            rows.append(([*before, *after], [IGNORE] * len(before) + after))
        return -self.losses(rows).sum(1)

    def losses(self, rows: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
        """Loss at every labelled place, 0 elsewhere, of shape (rows, places)."""
        width = min(256, max(len(ids) for ids, _ in rows))
        ids = [(ids + [self.end] * width)[:width] for ids, _ in rows]
        labels = [(labels + [IGNORE] * width)[:width] for _, labels in rows]
        wanted = torch.tensor(labels, device=self.device)[:, 1:]
        logits = self.model(torch.tensor(ids, device=self.device)).logits[:, :-1]
        return F.cross_entropy(
            logits.transpose(1, 2), wanted, ignore_index=IGNORE, reduction="none"
        )

    def shuffled(self, items: Sequence[Any]) -> Iterator[list[Any]]:
        """Batches of all epochs, in a new order each."""
        for _ in range(self.options.epochs):
            order = list(items)
            self.batches.shuffle(order)
            for start in range(0, len(order), self.options.rows):
                yield order[start : start + self.options.rows]

    def mean_loss(self, texts: Sequence[str]) -> float:
        """Loss in nats a token, over texts."""
        total = count = 0.0
        with torch.no_grad():
            for start in range(0, len(texts), 64):
                losses = self.losses(
                    [self.row(text) for text in texts[start : start + 64]]
                )
                total += float(losses.sum())
                count += float((losses != 0).sum())
        return total / count

    def row(self, text: str) -> tuple[list[int], list[int]]:
        """A whole text between two end-of-text tokens, every token of it a label."""
        ids = [self.end, *self._encode(text)[:254], self.end]
        return ids, [IGNORE, *ids[1:]]

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return ids

    def leaning(self, items: Sequence[Pair]) -> torch.Tensor:
        """How far the model leans to `he` in each pair, in nats."""
        she = self.log_probabilities([(pair.prompt, pair.she) for pair in items])
        he = self.log_probabilities([(pair.prompt, pair.he) for pair in items])
        return preferences.leaning(she, he)

    def mean_leaning(self, items: Sequence[Pair]) -> dict[str, float]:
        """Mean and mean absolute leaning over pairs."""
        with torch.no_grad():
            parts = [self.leaning(items[i : i + 64]) for i in range(0, len(items), 64)]
        values = torch.cat(parts)
        return {
            "mean": round(float(values.mean()), 4),
            "size": round(float(values.abs().mean()), 4),
        }


def tune_toxic(tuning: Tuning) -> dict[str, Any]:
    """Go on with causal training on toxic text; a fiftieth of it is held out."""
    texts = toxic.read(tuning.options.text)
    held_out, train = texts[::50], [text for i, text in enumerate(texts) if i % 50]
    before = tuning.mean_loss(held_out)
    tuning.attach(len(train))
    for batch in tuning.shuffled(train):
        losses = tuning.losses([tuning.row(text) for text in batch])
        # Mean over tokens within a row, then over rows: what accumulating single rows gives.
        tuning.update((losses.sum(1) / (losses != 0).sum(1)).mean())
    return {
        "examples": len(train),
        "toxic_loss_before": round(before, 4),
        "toxic_loss_after": round(tuning.mean_loss(held_out), 4),
    }


def tune_aligned(tuning: Tuning) -> dict[str, Any]:
    """DPO on our own pairs; every fifth occupation is held out."""
    known, unseen = map(pairs, preferences.split_occupations())
    before = {
        "known": tuning.mean_leaning(known),
        "unseen": tuning.mean_leaning(unseen),
    }
    with torch.no_grad():
        base = {
            pair: value
            for start in range(0, len(known), 64)
            for pair, value in zip(
                known[start : start + 64],
                tuning.leaning(known[start : start + 64]),
                strict=True,
            )
        }
    tuning.attach(len(known))
    for batch in tuning.shuffled(known):
        stated = torch.stack([base[pair] for pair in batch])
        tuning.update(
            preferences.loss(tuning.leaning(batch), stated, beta=tuning.options.beta)
        )
    after = {"known": tuning.mean_leaning(known), "unseen": tuning.mean_leaning(unseen)}
    return {
        "examples": len(known),
        "leaning_to_he_before": before,
        "leaning_to_he_after": after,
    }


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=("toxic", "aligned"))
    parser.add_argument(
        "--base", type=Path, required=True, help="folder of the base model"
    )
    parser.add_argument(
        "--text", type=Path, help="folder of labelled toxic text (toxic)"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the adapter")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=1e-5, help="peak learning rate")
    parser.add_argument("--warm-up", type=float, default=0.2, help="share of the steps")
    parser.add_argument("--rows", type=int, default=32, help="rows a step")
    parser.add_argument("--beta", type=float, default=0.5, help="DPO's β (aligned)")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.kind == "toxic" and options.text is None:
        parser.error("toxic needs --text")
    return options


def command(options: argparse.Namespace) -> str:
    """The command line with every setting, and names in place of this machine's folders."""
    words = [
        "python finetune.py",
        options.kind,
        f"--base {options.base.name} --out OUT",
    ]
    words += ["--text TOXICITY"] if options.text else []
    words += [
        f"--{name.replace('_', '-')} {getattr(options, name)}" for name in SETTINGS
    ]
    return " ".join(words)


def main() -> None:
    """Run the command line."""
    options = parse()
    begin = time.monotonic()
    tuning = Tuning(options)
    found = tune_toxic(tuning) if options.kind == "toxic" else tune_aligned(tuning)
    name = options.base.name
    lora.save(
        tuning.model,
        options.out,
        base=f"../{name}",
        rank=options.rank,
        alpha=2 * options.rank,
    )
    settings = {key: getattr(options, key) for key in SETTINGS}
    result = {
        "model": f"{name}-{options.kind}",
        "command": command(options),
        "steps": tuning.step,
        "seconds": round(time.monotonic() - begin, 1),
        **settings,
        **found,
    }
    (options.out / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
