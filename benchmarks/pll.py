"""Statements per second of the pseudo-log-likelihood: prints a table, then one JSON object.

The COBIAS work: a statement and 40 versions of it, every token masked in turn. Three ways on the
same model, machine and statements: the released procedure (one masked sequence at a time), minicons
where it is installed, and Clinometer; then, on a GPU, the whole dataset, and a 350-word statement.

    PYTHONPATH=src python3 benchmarks/pll.py --prepare STATEMENTS.csv VERSIONS.jsonl.gz
    PYTHONPATH=src python3 benchmarks/pll.py --shape pocket                  (two CPU cores)
    PYTHONPATH=src python3 benchmarks/pll.py --device cuda --shape bert-large --seconds 400

`--prepare` writes the data file (--data) once, from the published files of COBIAS, which are not
part of this repository. Without the file, statements written for the purpose are used.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import importlib.util
import itertools
import json
import lzma
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from bare_machine import Stages, dtype_on, import_clinometer, matmul_peak, timed

ROOT = Path(__file__).parent.parent
POCKET = ROOT / "pocket/src/clinometer_pocket/bert"
VERSIONS = 40
CHUNK = 256

#: hidden size, layers, heads, intermediate size, vocabulary
SHAPES = {
    "bert-large": (1024, 24, 16, 4096, 30_522),
    "bert-base": (768, 12, 12, 3072, 30_522),
    "bert-small": (512, 4, 8, 2048, 30_522),
    "bert-8x384": (384, 8, 6, 736, 16_384),
    "toy": (32, 2, 4, 64, 16_384),
}

#: A statement: its text and versions, each with the character spans of its target terms.
Texts = list[tuple[str, tuple[tuple[int, int], ...]]]


def prepare(statements: Path, versions: Path, out: Path) -> dict[str, Any]:
    """The published statements with their first 40 versions as one compressed file."""
    from clinometer.reliability.statement import find_term

    with statements.open(encoding="utf-8") as stream:
        known = {row["id"]: row for row in csv.DictReader(stream)}
    out.parent.mkdir(parents=True, exist_ok=True)
    n = 0
    with (
        gzip.open(versions, "rt", encoding="utf-8") as found,
        lzma.open(out, "wt") as file,
    ):
        for line in found:
            record = json.loads(line)
            row = known[record["id"]]
            texts = [
                row["sentence"],
                *(v.strip() for v in record["variants"][:VERSIONS]),
            ]
            spans = [find_term(text, row["target_term"]) for text in texts]
            file.write(json.dumps([texts, spans], ensure_ascii=False) + "\n")
            n += 1
    return {"statements": n, "file": str(out), "bytes": out.stat().st_size}


def read(data: Path) -> list[Texts]:
    """Statements from the data file, or made up: a sentence with 40 of its fillings."""
    if data.is_file():
        with lzma.open(data, "rt") as stream:
            return [
                [
                    (t, tuple(map(tuple, s)))
                    for t, s in zip(*json.loads(line), strict=True)
                ]
                for line in stream
            ]
    fill = ["old", "young", "tired", "famous", "local", "quiet", "new", "honest"]
    places = ["office", "hospital", "school", "station", "market"]
    found = []
    for who, where in itertools.product(
        ["doctor", "nurse", "teacher", "driver"], places
    ):
        text = f"The {{}} {who} at the {where} said that the work of the {{}} day was hard."
        versions = [text.format(a, b) for a in fill for b in places][:VERSIONS]
        found.append(
            [(v.replace("  ", " "), ()) for v in [text.format("", ""), *versions]]
        )
    return found


def open_scorer(shape: str, device: torch.device, batch_tokens: int | None) -> Any:
    """The pocket model with its weights, or a BERT of the given shape with random ones."""
    from clinometer.models.local.masked import MaskedScorer
    from clinometer.models.protocol import ModelInfo

    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(POCKET)
    if shape == "pocket":
        model = transformers.AutoModelForMaskedLM.from_pretrained(
            POCKET, dtype=dtype_on(device)
        )
        model = model.to(device)
    else:
        width, layers, heads, inner, vocabulary = SHAPES[shape]
        torch.manual_seed(0)
        config = transformers.BertConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=inner,
        )
        with torch.device(device):
            model = transformers.AutoModelForMaskedLM.from_config(
                config, dtype=dtype_on(device)
            )
    info = ModelInfo(shape, "masked", "benchmark")
    return MaskedScorer(model.eval(), tokenizer, info, batch_tokens=batch_tokens)


def released(model: Any, tokenizer: Any, texts: list[str]) -> list[float]:
    """The released procedure: lower-case, no special tokens, one masked sequence at a time."""
    found = []
    for text in texts:
        ids = tokenizer.encode(
            text.lower(), add_special_tokens=False, return_tensors="pt"
        )
        ids = ids.to(model.device)
        total = 0.0
        for i in range(ids.shape[1]):
            row = ids.clone()
            row[0][i] = tokenizer.mask_token_id
            logits = model(row)[0].squeeze(0)[i]
            total += torch.log_softmax(logits.float(), dim=0)[ids[0][i]].item()
        found.append(total)
    return found


class Ways:
    """The ways to score one list of statements, each as a stage."""

    def __init__(self, scorer: Any, statements: list[Texts]) -> None:
        from clinometer.models.whole_texts import MarkedText, TextOptions

        self.scorer, self.model, self.device = scorer, scorer.model, scorer.device
        self.statements = [[MarkedText(*t) for t in s] for s in statements]
        self.options = {
            "released": TextOptions(
                masking="original", targets="scored", special_tokens=False, lower=True
            ),
            "original": TextOptions(masking="original", targets="scored"),
            "equation": TextOptions(),
        }
        self.scores: dict[str, Any] = {}

    def flat(self, n: int) -> list[str]:
        return [t.text for s in self.statements[:n] for t in s]

    @contextlib.contextmanager
    def plain_attention(self) -> Iterator[None]:
        """The library's own attention for the others; ours is put back."""
        used = self.model.config._attn_implementation
        self.model.set_attn_implementation("sdpa")
        yield
        self.model.set_attn_implementation(used)

    def ours(self, n: int, variant: str) -> dict[str, Any]:
        from clinometer.models.likelihood import score_chunks

        some = self.statements[:n]
        chunks = [
            [t for s in some[k : k + CHUNK] for t in s]
            for k in range(0, len(some), CHUNK)
        ]
        options = self.options[variant]

        def work() -> None:
            parts = list(score_chunks(self.scorer, chunks, options))
            self.scores[variant] = np.concatenate([p.log_prob for p in parts])
            self.tokens = int(sum(p.tokens.sum() for p in parts))

        seconds = timed(work, self.device)
        return self.speed(len(some), seconds, self.tokens)

    def released(self, n: int) -> dict[str, Any]:
        texts = self.flat(n)
        with self.plain_attention(), torch.inference_mode():
            released(self.model, self.scorer.tokenizer, texts[:1])
            found: list[float] = []
            seconds = timed(
                lambda: found.extend(
                    released(self.model, self.scorer.tokenizer, texts)
                ),
                self.device,
            )
        ours = self.scores["released"][: len(found)]
        row = self.speed(n, seconds, self.count(texts, special=False))
        return row | {"largest_difference": float(np.abs(ours - np.array(found)).max())}

    def minicons(self, n: int, batch: int) -> dict[str, Any]:
        scorer = importlib.import_module("minicons.scorer").MaskedLMScorer(
            self.model, str(self.device), tokenizer=self.scorer.tokenizer
        )
        texts = self.flat(n)
        found: list[float] = []

        def work() -> None:
            for k in range(0, len(texts), batch):
                # Encoded by hand: minicons 0.3.39 calls a method that transformers 5 no longer has.
                encoded = self.scorer.tokenizer(
                    texts[k : k + batch], return_tensors="pt", padding=True
                )
                found.extend(
                    scorer.sequence_score(
                        encoded,
                        reduction=lambda x: x.sum().item(),
                        PLL_metric="original",
                    )
                )

        with self.plain_attention():
            seconds = timed(work, self.device)
        ours = self.scores["original"][: len(found)]
        row = self.speed(n, seconds, self.count(texts, special=False))
        return row | {"largest_difference": float(np.abs(ours - np.array(found)).max())}

    def count(self, texts: list[str], *, special: bool) -> int:
        rows = self.scorer.tokenizer(texts, add_special_tokens=special)["input_ids"]
        return sum(map(len, rows))

    def long_statement(self, *, at_once: bool) -> dict[str, Any]:
        """350 words: Clinometer in batches, or all copies with all their logits in one batch."""
        from clinometer.models.likelihood import score_texts
        from clinometer.models.whole_texts import MarkedText

        text = "the nurse at the old office said that she was tired and "
        text = " ".join((text * 30).split()[:350])
        before = _memory(self.device, reset=True)
        if at_once:
            ids = self.scorer.tokenizer(text, return_tensors="pt")["input_ids"].to(
                self.device
            )
            rows = ids.repeat(ids.shape[1], 1)
            rows.fill_diagonal_(self.scorer.tokenizer.mask_token_id)

            def work() -> None:
                with torch.inference_mode():
                    logits = self.model(input_ids=rows).logits.float()
                    logits.log_softmax(-1).diagonal().sum().item()
        else:

            def work() -> None:
                score_texts(self.scorer, [MarkedText(text)], self.options["original"])

        with self.plain_attention() if at_once else contextlib.nullcontext():
            seconds = timed(work, self.device)
        gib = (_memory(self.device) - before) / 2**30
        return {
            "seconds": round(seconds, 3),
            "peak_gib_beside_the_model": round(gib, 2),
        }

    @staticmethod
    def speed(statements: int, seconds: float, tokens: int) -> dict[str, Any]:
        return {
            "statements": statements,
            "seconds": round(seconds, 3),
            "statements_per_s": round(statements / seconds, 4),
            "tokens_per_s": round(tokens / seconds, 1),
        }


def _memory(device: torch.device, *, reset: bool = False) -> int:
    if device.type == "cuda":
        if reset:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            return int(torch.cuda.memory_allocated())
        return int(torch.cuda.max_memory_allocated())
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def computed(ways: Ways) -> dict[str, Any]:
    """How many masked copies there are, how many distinct ones, and how long they are."""
    from clinometer.models.likelihood import encode_texts, masked_copies, scored_tokens

    options, tokenizer = ways.options["equation"], ways.scorer.tokenizer
    texts = [t for s in ways.statements for t in s]
    distinct = list(dict.fromkeys(texts))
    rows = tokens = 0
    for k in range(0, len(distinct), 4096):
        encoded = encode_texts(tokenizer, distinct[k : k + 4096], options)
        scored = scored_tokens(encoded, options)
        for copies in masked_copies(encoded, scored, options, tokenizer.mask_token_id):
            rows += len(copies.batch.tokens)
            tokens += copies.batch.tokens.size
    return {
        "texts": len(texts),
        "distinct_texts": len(distinct),
        "distinct_copies": rows,
        "tokens_in_copies": tokens,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--prepare", nargs=2, type=Path, metavar=("STATEMENTS", "VERSIONS")
    )
    parser.add_argument(
        "--data", type=Path, default=ROOT / "work/bench/cobias.jsonl.xz"
    )
    parser.add_argument("--shape", default="pocket", choices=["pocket", *SHAPES])
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--statements", type=int, default=3, help="that every way scores"
    )
    parser.add_argument(
        "--whole", action="store_true", help="score the whole dataset on a CPU too"
    )
    parser.add_argument("--batch-tokens", type=int)
    parser.add_argument(
        "--seconds", type=float, default=400, help="begin no stage after this"
    )
    settings = parser.parse_args()
    if settings.prepare:
        statements, versions = settings.prepare
        print(json.dumps(prepare(statements, versions, settings.data)))
        return
    imports = import_clinometer()
    device = torch.device(settings.device)
    statements = read(settings.data)
    random.Random(0).shuffle(statements)  # noqa: S311  (a sample, not a secret)
    scorer = open_scorer(settings.shape, device, settings.batch_tokens)
    ways = Ways(scorer, statements)
    peak = matmul_peak(device)
    record: dict[str, Any] = {
        "benchmark": "pll",
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "shape": settings.shape,
        "dtype": str(scorer.model.dtype),
        "data": settings.data.name if settings.data.is_file() else "made up",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "imports": imports,
        "matmul_peak_tflops": round(peak, 3),
        "dataset": {"statements": len(statements)},
    }
    out = (
        Path(os.environ["OUT"]) / f"pll-{settings.shape}.json"
        if os.environ.get("OUT")
        else None
    )
    stages = Stages(record, settings.seconds, out)
    n, cuda = min(settings.statements, len(statements)), device.type == "cuda"
    ways.ours(1, "equation")  # warm up
    for variant in ways.options:
        stages.run(f"clinometer, {variant}", 0, lambda v=variant: ways.ours(n, v))
    stages.run("released procedure, batch 1", 0, lambda: ways.released(n))
    if cuda or settings.whole:
        part = min(len(statements), CHUNK)
        if cuda:
            stages.run(
                f"clinometer, {part} statements",
                20,
                lambda: ways.ours(part, "equation"),
            )
        stages.run(
            "clinometer, whole dataset",
            60,
            lambda: ways.ours(len(statements), "equation"),
        )
    if importlib.util.find_spec("minicons"):
        stages.run("minicons, batch 10", 30, lambda: ways.minicons(n, 10))
    stages.run(
        "350 words: clinometer",
        5 if cuda else 100,
        lambda: ways.long_statement(at_once=False),
    )
    if cuda:
        stages.run(
            "350 words: all copies at once",
            5,
            lambda: ways.long_statement(at_once=True),
        )
        for tokens in (8_192, 32_768, 65_536, 131_072):
            scorer.batch_size.tokens = tokens
            stages.run(
                f"clinometer, {part} statements, batches of {tokens} tokens",
                15,
                lambda: ways.ours(part, "equation"),
            )
        stages.record["dataset"] |= computed(ways)
        _utilisation(stages.record, scorer, peak)
    _ratios(stages.record)
    if out:
        out.write_text(json.dumps(stages.record, indent=1))
    for row in stages.record["rows"]:
        rate = row.get("statements_per_s", "-")
        print(f"{row['name']:<60} {rate:>12} {row.get('seconds', '-'):>10}")
    print(json.dumps(stages.record))


def _utilisation(record: dict[str, Any], scorer: Any, peak: float) -> None:
    """Share of the best matrix product that the whole dataset reached."""
    config, dataset = scorer.model.config, record["dataset"]
    layer = (
        4 * config.hidden_size**2 + 2 * config.hidden_size * config.intermediate_size
    )
    flops = 2.0 * dataset["tokens_in_copies"] * layer * config.num_hidden_layers
    flops += 2.0 * dataset["distinct_copies"] * config.hidden_size * config.vocab_size
    for row in record["rows"]:
        if row["name"] == "clinometer, whole dataset" and "seconds" in row:
            row["mfu"] = round(flops / row["seconds"] / (peak * 1e12), 3)


def _ratios(record: dict[str, Any]) -> None:
    """How many times faster Clinometer is, on the sample that every way scored; and on the dataset.

    Sample and dataset differ in length, so their ratio is one of tokens scored per second. A text
    that occurs twice counts twice: the others score it twice.
    """
    rows = {row["name"]: row for row in record["rows"] if "seconds" in row}
    pairs = {
        "released": (
            "clinometer, released",
            "released procedure, batch 1",
            "statements_per_s",
        ),
        "minicons": ("clinometer, original", "minicons, batch 10", "statements_per_s"),
        "released_whole_dataset": (
            "clinometer, whole dataset",
            "released procedure, batch 1",
            "tokens_per_s",
        ),
    }
    record["times_faster_than"] = {
        name: round(rows[ours][unit] / rows[theirs][unit], 2)
        for name, (ours, theirs, unit) in pairs.items()
        if ours in rows and theirs in rows
    }


if __name__ == "__main__":
    main()
