"""Prompts per second on a GPU, random weights at real size: prints a table, then one JSON object.

BERT-large shape (masked) and Llama-2-7B shape (causal), each asked by a plain loop (batches of 16,
padded, logits of the whole sequence), by one big padded batch, and by Clinometer. Stages are
skipped when `--seconds` run out, the most telling come first, and results are written as they come.

    PYTHONPATH=src python3 benchmarks/gpu_grid.py --templates templates.csv --seconds 140
    PYTHONPATH=src python3 benchmarks/gpu_grid.py --smoke            (tiny shapes, any machine)
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import itertools
import json
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from bare_machine import SOURCE, Stages, dtype_on, import_clinometer, matmul_peak, timed
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch.nn.attention import SDPBackend, sdpa_kernel

BUILTIN = SOURCE / "topics/builtin"


def texts(
    templates: Path | None, n_contexts: int, n_groups: int
) -> tuple[list[str], list[str]]:
    """Prompts ("The nurse said that"), group by group, and the words of the gender lists."""
    if templates:
        with templates.open() as stream:
            found = [
                row["template"]
                for row in itertools.islice(csv.DictReader(stream), n_contexts)
            ]
    else:
        verbs = ["said", "stated", "wrote", "felt", "knew", "heard", "saw", "hoped"]
        tails = ["that", "in an interview that", "to the press that", "and"]
        found = [f"The [X] {verb} {tail} [Y]" for tail in tails for verb in verbs][
            :n_contexts
        ]
    with (BUILTIN / "occupations.csv").open() as stream:
        groups = [row["occupation"] for row in csv.DictReader(stream)][:n_groups]
    ends = [t.removesuffix(" [Y]") for t in found if t.endswith(" [Y]")]
    prompts = [t.replace("[X]", g) for g in groups for t in ends]
    lists = tomllib.loads((BUILTIN / "gender.toml").read_text())["attributes"]
    return prompts, list(dict.fromkeys(w for words in lists.values() for w in words))


def trained(kind: str, corpus: Sequence[str], words: Sequence[str], size: int) -> Any:
    """A tokenizer as Llama's or as BERT's: the words of the lists in one piece, prompts in about 8
    tokens, or 10 with the mask and the edges."""
    if kind == "causal":
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        names = {"bos_token": "<s>", "eos_token": "</s>"}
        trainer: Any = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=list(names.values()),
            initial_alphabet=alphabet,
        )
        edges, line = ["<s>"], "<s> $A"
    else:
        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # noqa: S106
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        names = {
            f"{n}_token": f"[{n.upper()}]" for n in ("pad", "unk", "cls", "sep", "mask")
        }
        trainer = trainers.WordPieceTrainer(
            vocab_size=size, special_tokens=list(names.values())
        )
        edges, line = ["[CLS]", "[SEP]"], "[CLS] $A [SEP]"
    made.train_from_iterator(
        [*corpus, *([" " + " ".join(words)] * len(corpus))], trainer
    )
    made.post_processor = processors.TemplateProcessing(
        single=line, special_tokens=[(t, made.token_to_id(t)) for t in edges]
    )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names)


def plain_loop(
    model: Any, rows: Sequence[list[int]], size: int, mask_id: int | None
) -> None:
    """Padded batches in the order given, logits of every position, one read a word."""
    wanted = range(10, 60)
    with torch.inference_mode():
        for k in range(0, len(rows), size):
            part = rows[k : k + size]
            width = max(map(len, part))
            ids = torch.tensor([r + [0] * (width - len(r)) for r in part]).to(
                model.device
            )
            mask = torch.tensor(
                [[1] * len(r) + [0] * (width - len(r)) for r in part]
            ).to(ids.device)
            logits = model(input_ids=ids, attention_mask=mask).logits
            slot = (
                mask.sum(1) - 1 if mask_id is None else (ids == mask_id).int().argmax(1)
            )
            found = logits[torch.arange(len(part)), slot].float().log_softmax(-1)
            torch.stack([found[:, w] for w in wanted], dim=1).cpu()


def measure(
    kind: str,
    settings: argparse.Namespace,
    stages: Stages,
    peak: float,
    device: torch.device,
) -> None:
    """All stages of one model."""
    from clinometer.models.local.causal import CausalScorer
    from clinometer.models.local.masked import MaskedScorer
    from clinometer.models.options import WordOptions
    from clinometer.models.protocol import ModelInfo
    from clinometer.models.scoring.heads import Heads
    from clinometer.topics.prompt import Prompt

    causal = kind == "causal"
    befores, words = texts(settings.templates, settings.contexts, settings.groups)
    prompts = [Prompt(text, "" if causal else " .", space=True) for text in befores]
    pieces, sample = (1300, 4_000) if causal else (1800, 18_000)
    tokenizer = trained(kind, befores[:: max(1, len(befores) // sample)], words, pieces)
    rows = tokenizer([p.before if causal else p.fill("[MASK]") for p in prompts])[
        "input_ids"
    ]
    name = "AutoModelForCausalLM" if causal else "AutoModelForMaskedLM"
    config = shape(kind, settings.smoke)
    with torch.device(device):
        model = (
            getattr(transformers, name)
            .from_config(config, dtype=dtype_on(device))
            .eval()
        )
    size = sum(p.numel() for name, p in model.named_parameters() if "embed" not in name)
    length = float(np.mean([len(r) for r in rows]))
    nodes = len(rows) * length
    if causal:
        heads = Heads.of(rows)[0]
        nodes = int((heads.lengths - heads.shared).sum())
    # Every distinct node passes the layers; one place a prompt passes the output layer.
    reads = config.vocab_size * config.hidden_size
    body = size - (reads if causal else 0)
    flops = 2.0 * (nodes * body + len(rows) * reads)
    stages.record[kind] = {
        "prompts": len(rows),
        "tokens_per_prompt": round(length, 2),
        "computed_per_prompt": round(nodes / len(rows), 2),
        "gflop_per_prompt": round(flops / len(rows) / 1e9, 2),
        "limit_prompts_per_s": round(peak * 1e12 / (flops / len(rows))),
        "limit_without_sharing": round(peak * 1e12 / (2.0 * (length * body + reads))),
    }

    def speed(n: int, seconds: float) -> dict[str, Any]:
        used = n / seconds * flops / len(rows) / (peak * 1e12)
        return {"prompts_per_s": round(n / seconds), "mfu": round(used, 3)}

    def ours(*, backend: str = "", rows: bool = False, **more: Any) -> dict[str, Any]:
        scorer_class: Any = CausalScorer if causal else MaskedScorer
        model.set_attn_implementation("sdpa")  # a scorer chooses anew
        scorer = scorer_class(
            model,
            tokenizer,
            ModelInfo(kind, kind, "random"),
            options=WordOptions(single_token=True),
            **more,
        )
        if rows:
            scorer.packing.give_up("requested")
        chosen = getattr(SDPBackend, backend, None)
        with sdpa_kernel(chosen) if chosen is not None else contextlib.nullcontext():
            # The first pass grows the pools of memory, chooses kernels and checks the packs.
            first = timed(lambda: scorer.score(prompts, words), device)
            seconds = timed(lambda: scorer.score(prompts, words), device)
        found = speed(len(prompts), seconds)
        found["first_pass_prompts_per_s"] = round(len(prompts) / first)
        if causal:
            found["packing"] = scorer.packing.mode
        return found

    def loop(n: int, batch: int) -> dict[str, Any]:
        n, mask_id = min(n, len(rows)), None if causal else tokenizer.mask_token_id
        model.set_attn_implementation("sdpa")
        plain_loop(model, rows[: 4 * batch], batch, mask_id)
        return speed(
            n, timed(lambda: plain_loop(model, rows[:n], batch, mask_id), device)
        )

    fast, slow = (0, 0) if settings.smoke else (16, 10)
    stages.run(
        f"{kind}: plain loop, batch 16",
        slow,
        lambda: loop(2000 if causal else 6000, 16),
    )
    stages.run(f"{kind}: one big padded batch", slow, lambda: loop(16000, 2048))
    stages.run(f"{kind}: clinometer", fast, ours)
    for more in VARIANTS[kind]:
        label = " ".join(f"{k} {v}" for k, v in more.items())
        stages.run(f"{kind}: clinometer, {label}", fast, lambda more=more: ours(**more))
    if causal:
        stages.run(f"{kind}: clinometer rows", 20, lambda: ours(rows=True))
    if device.type == "cuda":
        stages.record[kind]["peak_gib"] = round(
            torch.cuda.max_memory_allocated() / 2**30, 1
        )
        torch.cuda.reset_peak_memory_stats()


VARIANTS: dict[str, list[dict[str, Any]]] = {
    "masked": [{"batch_tokens": 16_384}, {"batch_tokens": 131_072}],
    "causal": [{"batch_tokens": 32_768}, {"backend": "EFFICIENT_ATTENTION"}],
}


def shape(kind: str, smoke: bool) -> Any:
    """Llama-2-7B and BERT-large, or toys of the same architecture."""
    names = (
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
    )
    real = (4096, 32, 32, 11008) if kind == "causal" else (1024, 24, 16, 4096)
    sizes = dict(zip(names, (32, 2, 4, 64) if smoke else real, strict=True))
    if kind == "causal":
        return transformers.LlamaConfig(vocab_size=32_000, **sizes)
    return transformers.BertConfig(vocab_size=30_522, **sizes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--templates", type=Path, help="CSV with a column `template`")
    parser.add_argument("--contexts", type=int, default=2000)
    parser.add_argument("--groups", type=int, default=24)
    parser.add_argument("--kinds", default="masked,causal")
    parser.add_argument(
        "--seconds", type=float, default=240, help="begin no stage after this"
    )
    parser.add_argument(
        "--smoke", action="store_true", help="tiny shapes, to try the script"
    )
    settings = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    peak = matmul_peak(device)
    record: dict[str, Any] = {
        "benchmark": "gpu_grid",
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "imports": import_clinometer(),
        "matmul_peak_tflops": round(peak, 1),
    }
    out = Path(os.environ["OUT"]) / "gpu_grid.json" if os.environ.get("OUT") else None
    stages = Stages(record, settings.seconds, out)
    for kind in settings.kinds.split(","):
        measure(kind, settings, stages, peak, device)
    print(json.dumps(stages.record))
    for row in stages.record["rows"]:
        rate, mfu = row.get("prompts_per_s", "-"), row.get("mfu", "-")
        print(f"{row['name']:<60} {rate:>9} {mfu:>7}")


if __name__ == "__main__":
    main()
