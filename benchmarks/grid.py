"""Prompts per second of a grid on a CPU, against other ways of doing the same: one JSON object.

120 occupations × 100 contexts, all words of the gender lists, SmolLM2 (or `--model`), one machine,
one run: `clinometer` against

- `plain_loop`, the paper's procedure: batches of 16, padded, logits of the whole sequence, one read
  a word; words of several tokens as rows of their own. `plain_loop_single` has the paper's own
  restriction to words of one token, beside `clinometer_single`;
- `minicons`: `conditional_score`, 16 pairs of prompt and word at a time;
- `requests`, as other harnesses ask: one request a prompt and word, sorted by length, in batches of
  16. `requests_shared`: requests that differ only in their last token share a row;
- `lm_eval`, lm-evaluation-harness itself, where it is installed (`.venv/harnesses/bin/python`).

`--variants` scores the same cells with compiled layers, in bfloat16 and with products of 8-bit
integers (torch's dynamic quantization), each beside float32, after a first pass. The other ways are
for causal models; of a masked model the table has `clinometer` and the variants.

The slow ones are timed on some batches of cells drawn with `--seed`, and checked against the same
numbers. Shared machines: compare ratios, and see `load` in the output.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import csv
import gzip
import itertools
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clinometer.contexts import load_contexts
from clinometer.measure import membership, preference
from clinometer.models import LoadOptions, WordOptions, open_model
from clinometer.topics import Prompt, load_topic

BATCH = 16
#: Reporting verbs, written down by hand; with the paper's ten templates they make 100 contexts.
VERBS = """acknowledged added agreed alleged argued asserted assumed boasted complained conceded
concluded confessed confided confirmed considered contended decided declared demanded denied
discovered doubted dreamed emphasized estimated expected feared figured forgot found gathered
guessed heard hinted hoped imagined implied indicated inferred insisted joked judged knew learned
maintained meant mentioned noted noticed observed pleaded pointed-out predicted presumed
proclaimed promised proposed proved questioned realized recalled reckoned recognized recommended
recorded recounted reflected regretted remarked remembered repeated replied reported requested
responded ruled sensed showed speculated stressed suggested supposed suspected swore taught
testified thought told-us understood urged vowed warned wished wondered worried""".split()  # noqa: SIM905


def templates(file: Path | None, n: int) -> list[str]:
    if file is None:
        known = list(load_contexts("paper-gender").templates)
        return (known + [f"The [X] {v.replace('-', ' ')} that [Y]" for v in VERBS])[:n]
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as stream:
        found = [row["template"] for row in csv.DictReader(stream)]
    return [t for t in found if t.endswith("[Y]")][:n]


class Work:
    """Counts the matrix products of a model: tokens through the layers, rows through the output."""

    def __init__(self, model: Any) -> None:
        self.head = model.get_output_embeddings()
        self.vocabulary, self.width = self.head.weight.shape
        total = sum(p.numel() for p in model.parameters() if p.ndim > 1)
        tied = self.head.weight is model.get_input_embeddings().weight
        self.layers = total - self.vocabulary * self.width * (1 if tied else 2)
        self.tokens = self.reads = 0
        model.register_forward_pre_hook(self._count_tokens, with_kwargs=True)
        self.head.register_forward_hook(self._count_reads)

    def _count_tokens(self, _model: Any, args: Any, inputs: Any) -> None:
        self.tokens += (args[0] if args else inputs["input_ids"]).numel()

    def _count_reads(self, _head: Any, _args: Any, logits: torch.Tensor) -> None:
        self.reads += logits.numel() // self.vocabulary

    @contextlib.contextmanager
    def measured(self, n_prompts: int, peak: float) -> Iterator[dict[str, Any]]:
        row: dict[str, Any] = {"prompts": n_prompts}
        self.tokens = self.reads = 0
        start, used = time.perf_counter(), time.process_time()
        yield row
        seconds, used = time.perf_counter() - start, time.process_time() - used
        flops = 2.0 * (
            self.tokens * self.layers + self.reads * self.vocabulary * self.width
        )
        row |= {
            "prompts_per_s": round(n_prompts / seconds, 3),
            "seconds": round(seconds, 2),
            "cpu_ms_per_prompt": round(used / n_prompts * 1e3, 2),
            "tokens_per_prompt": round(self.tokens / n_prompts, 2),
            "reads_per_prompt": round(self.reads / n_prompts, 2),
            "gflop_per_prompt": round(flops / n_prompts / 1e9, 3),
            "utilisation": round(flops / seconds / peak, 3),
            # A machine shared with others: what was computed in the time that was really ours.
            "utilisation_of_cpu_time": round(
                flops / used / (peak / torch.get_num_threads()), 3
            ),
        }


def sgemm_peak() -> float:
    """FLOP/s of a large float32 product on all threads: the best of one thread, timed by its own
    clock so that other people's work on the machine does not count, times the threads."""
    threads, times = torch.get_num_threads(), []
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    torch.set_num_threads(1)
    for _ in range(9):
        start = time.thread_time()
        a @ b
        times.append(time.thread_time() - start)
    torch.set_num_threads(threads)
    return 2 * 1024**3 / min(times) * threads


class Peer:
    """The model and the words' tokens, for ways that know nothing of the library."""

    def __init__(self, scorer: Any, words: Sequence[str]) -> None:
        self.model, self.tokenizer, self.words = scorer.model, scorer.tokenizer, words
        self.report = scorer.word_report(words, space=True)
        ids = self.tokenizer.convert_tokens_to_ids
        self.tokens = {
            w: ids(list(self.report.tokens[w]))
            for w in words
            if w not in self.report.left_out
        }

    def logits(self, rows: Sequence[list[int]]) -> torch.Tensor:
        """Logits of whole sequences, padded on the right."""
        width = max(map(len, rows))
        ids = torch.tensor([r + [0] * (width - len(r)) for r in rows])
        mask = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in rows])
        with torch.inference_mode():
            return self.model(input_ids=ids, attention_mask=mask).logits

    def table(self, found: Sequence[dict[str, float]]) -> np.ndarray:
        """Log-probabilities [P, V]; a word that begins another one stands without it."""
        out = np.full((len(found), len(self.words)), -np.inf)
        for i, row in enumerate(found):
            for j, word in enumerate(self.words):
                if word in row:
                    longer = [
                        np.exp(row[w])
                        for w in self.report.prefixes.get(word, ())
                        if w in row
                    ]
                    rest = np.exp(row[word]) - sum(longer)
                    out[i, j] = np.log(rest) if rest > 0 else -np.inf
        return out

    def plain_loop(
        self, prompts: Sequence[Prompt], *, single: bool
    ) -> list[dict[str, float]]:
        found: list[dict[str, float]] = [{} for _ in prompts]
        for k in range(0, len(prompts), BATCH):
            heads = self.tokenizer([p.before for p in prompts[k : k + BATCH]])[
                "input_ids"
            ]
            logits = self.logits(heads)
            for i, head in enumerate(heads):
                at_slot = logits[i, len(head) - 1].log_softmax(-1)
                for word, ids in self.tokens.items():
                    if len(ids) == 1:
                        found[k + i][word] = float(at_slot[ids[0]])
            for word, ids in self.tokens.items():
                if len(ids) == 1 or single:
                    continue
                logits = self.logits([head + ids[:-1] for head in heads])
                for i, head in enumerate(heads):
                    path = logits[i, len(head) - 1 :].log_softmax(-1)
                    found[k + i][word] = sum(
                        float(path[n, t]) for n, t in enumerate(ids)
                    )
        return found

    def requests(
        self, prompts: Sequence[Prompt], *, shared: bool
    ) -> list[dict[str, float]]:
        heads = self.tokenizer([p.before for p in prompts])["input_ids"]
        rows: dict[Any, list[tuple[int, str]]] = {}
        for i, head in enumerate(heads):
            for word, ids in self.tokens.items():
                row = tuple(head + ids[:-1])
                rows.setdefault((i, row) if shared else (i, row, word), []).append(
                    (i, word)
                )
        found: list[dict[str, float]] = [{} for _ in prompts]
        order = sorted(rows, key=lambda key: (-len(key[1]), key[1]))
        for k in range(0, len(order), BATCH):
            part = order[k : k + BATCH]
            log_probs = self.logits([list(key[1]) for key in part]).log_softmax(-1)
            for row, key in zip(log_probs, part, strict=True):
                for i, word in rows[key]:
                    start = len(heads[i]) - 1
                    ids = torch.tensor(self.tokens[word])
                    path = row[start : start + len(ids)]
                    found[i][word] = float(path.gather(1, ids[:, None]).sum())
        return found

    def minicons(self, prompts: Sequence[Prompt]) -> list[dict[str, float]]:
        from minicons.scorer import IncrementalLMScorer

        scorer = IncrementalLMScorer(self.model, "cpu", tokenizer=self.tokenizer)
        pairs = [(i, word) for i in range(len(prompts)) for word in self.tokens]
        found: list[dict[str, float]] = [{} for _ in prompts]
        for k in range(0, len(pairs), BATCH):
            part = pairs[k : k + BATCH]
            values = scorer.conditional_score(
                [prompts[i].before for i, _ in part],
                [word for _, word in part],
                reduction=lambda x: x.sum(0).item(),
            )
            for (i, word), value in zip(part, values, strict=True):
                found[i][word] = value
        return found

    def lm_eval(self, prompts: Sequence[Prompt]) -> list[dict[str, float]]:
        from lm_eval.models.huggingface import HFLM

        harness = HFLM(
            pretrained=self.model, tokenizer=self.tokenizer, batch_size=BATCH
        )
        heads = self.tokenizer([p.before for p in prompts])["input_ids"]
        pairs = [(i, word) for i in range(len(prompts)) for word in self.tokens]
        asked = [
            ((prompts[i].before, word), heads[i], self.tokens[word])
            for i, word in pairs
        ]
        found: list[dict[str, float]] = [{} for _ in prompts]
        answers = harness._loglikelihood_tokens(asked, disable_tqdm=True)
        for (i, word), (value, _) in zip(pairs, answers, strict=True):
            found[i][word] = float(value)
        return found


def compiled(model: Any) -> Any:
    """The model with its layers compiled, each for any number of rows."""
    layers = max(
        (m for m in model.modules() if isinstance(m, torch.nn.ModuleList)),
        key=len,
        default=[],
    )
    for layer in layers:
        layer.compile(dynamic=True)
    return model


def in_integers(model: Any) -> Any:
    """The model with the products of its linear layers in 8 bits."""
    if platform.machine() in ("aarch64", "arm64"):
        torch.backends.quantized.engine = "qnnpack"
    kinds = {torch.nn.Linear}
    return torch.ao.quantization.quantize_dynamic(model, kinds, dtype=torch.qint8)


def scored_by(
    variant: str,
    plain: Any,
    scorer: Any,
    prompts: Sequence[Prompt],
    words: Sequence[str],
) -> tuple[dict[str, Any], np.ndarray]:
    """The prompts scored by a changed copy of the model, and how fast after a first pass."""
    model = VARIANTS[variant](copy.deepcopy(plain))
    changed = type(scorer)(model, scorer.tokenizer, scorer.info, options=scorer.options)
    passes, used = [], 0.0
    for _ in range(2):
        start, used = time.perf_counter(), time.process_time()
        found = changed.score(prompts, words).log_probs
        passes.append(time.perf_counter() - start)
    return {
        "prompts": len(prompts),
        "prompts_per_s": round(len(prompts) / passes[1], 3),
        "cpu_ms_per_prompt": round(
            (time.process_time() - used) / len(prompts) * 1e3, 2
        ),
        "first_pass_s": round(passes[0], 2),
    }, found


VARIANTS: dict[str, Callable[[Any], Any]] = {
    "float32": lambda model: model,
    "compiled": compiled,
    "bfloat16": lambda model: model.to(torch.bfloat16),
    "int8": in_integers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--contexts", type=int, default=100)
    parser.add_argument("--groups", type=int, default=120)
    parser.add_argument("--templates", type=Path, help="CSV with a column `template`")
    parser.add_argument("--variants", nargs="*", choices=list(VARIANTS), default=[])
    parser.add_argument(
        "--peer-batches", type=int, default=2, help="of 16 cells for slow ways"
    )
    parser.add_argument(
        "--request-cells", type=int, default=4, help="for the slowest ways"
    )
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    warnings.simplefilter("ignore")
    scorer: Any = open_model(
        settings.model, load=LoadOptions(device="cpu", dtype="float32")
    )
    topic = load_topic("gender")
    contexts = templates(settings.templates, settings.contexts)
    prompts = [
        topic.render(t, g) for t in contexts for g in topic.groups[: settings.groups]
    ]
    words = list(topic.words)
    peer, plain, peak = Peer(scorer, words), copy.deepcopy(scorer.model), sgemm_peak()
    same = peer.report.same_tokens
    named = {
        c: [same.get(w, w) for w in members] for c, members in topic.attributes.items()
    }
    counts = membership(words, named)
    work = Work(scorer.model)
    rng = np.random.default_rng(settings.seed)
    starts = (
        rng.permutation(max(1, len(prompts) // BATCH))[: settings.peer_batches] * BATCH
    )
    cells = [int(i) for s in starts for i in range(s, min(s + BATCH, len(prompts)))]
    sample = [prompts[i] for i in cells]
    rows: dict[str, dict[str, Any]] = {}
    ours: dict[bool, np.ndarray] = {}
    for single, name in ((False, "clinometer"), (True, "clinometer_single")):
        scorer.options = WordOptions(tolerance=settings.tolerance, single_token=single)
        scorer._words.clear()
        scorer.score(sample[:4], words)  # the first call also checks the packs
        with work.measured(len(prompts), peak) as rows[name]:
            ours[single] = scorer.score(prompts, words).log_probs
        print(name, rows[name], file=sys.stderr)
    kinds = ["float32", *settings.variants] if settings.variants else []
    for single, name in itertools.product((False, True), kinds):
        label = f"clinometer{'_single' if single else ''}"
        scorer.options = WordOptions(tolerance=settings.tolerance, single_token=single)
        row, found = scored_by(name, plain, scorer, prompts, words)
        mine, theirs = (preference(t, counts).p for t in (ours[single], found))
        rows[f"{label}_{name}"] = row | {
            "largest_difference_of_preferences": float(
                np.nanmax(np.abs(mine - theirs))
            ),
            "times_float32": round(
                row["prompts_per_s"]
                / rows.get(f"{label}_float32", row)["prompts_per_s"],
                3,
            ),
        }
        print(f"{label}_{name}", rows[f"{label}_{name}"], file=sys.stderr)
    few = settings.request_cells
    ways: dict[
        str, tuple[bool, int, Callable[[Sequence[Prompt]], list[dict[str, float]]]]
    ] = {
        "plain_loop": (False, len(sample), lambda p: peer.plain_loop(p, single=False)),
        "plain_loop_single": (
            True,
            len(sample),
            lambda p: peer.plain_loop(p, single=True),
        ),
        "minicons": (False, few, peer.minicons),
        "requests": (False, few, lambda p: peer.requests(p, shared=False)),
        "requests_shared": (False, few, lambda p: peer.requests(p, shared=True)),
    }
    if find_spec("lm_eval"):
        ways["lm_eval"] = (False, few, peer.lm_eval)
    if scorer.kind != "causal":
        ways = {}
    for name, (single, n, way) in ways.items():
        way(sample[:1])
        with work.measured(n, peak) as rows[name]:
            answers = way(sample[:n])
        mine, theirs = (
            preference(table, counts).p
            for table in (ours[single][cells[:n]], peer.table(answers))
        )
        ours_row = rows["clinometer_single" if single else "clinometer"]
        base, base_cpu = ours_row["prompts_per_s"], ours_row["cpu_ms_per_prompt"]
        rows[name] |= {
            "largest_difference_of_preferences": float(np.abs(mine - theirs).max()),
            "clinometer_is_faster_by": round(base / rows[name]["prompts_per_s"], 2),
            "by_cpu_time": round(rows[name]["cpu_ms_per_prompt"] / base_cpu, 2),
        }
        print(name, rows[name], file=sys.stderr)
    limit = settings.tolerance + 1e-4
    worst = max(
        (rows[name]["largest_difference_of_preferences"] for name in ways), default=0.0
    )
    ratios = {name: rows[name]["clinometer_is_faster_by"] for name in ways}
    record = {
        "benchmark": "grid",
        "model": settings.model,
        "grid": [min(settings.groups, len(topic.groups)), len(contexts), len(words)],
        "words_of_several_tokens": peer.report.counts()["words_of_several_tokens"],
        "tolerance": settings.tolerance,
        "seed": settings.seed,
        "timed_on": {name: row["prompts"] for name, row in rows.items()},
        "note": "slow ways are timed on seeded batches of cells; prompts_per_s compares them",
        "machine": {
            "cpu": platform.machine(),
            "threads": torch.get_num_threads(),
            "load": os.getloadavg(),
            "torch": torch.__version__,
            "sgemm_peak_gflops": round(peak / 1e9, 1),
        },
        "results": rows,
        "equal_numbers": worst <= limit,
        "passed": worst <= limit
        and ratios.get("plain_loop", 3) >= 3
        and ratios.get("requests", 10) >= 10,
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
