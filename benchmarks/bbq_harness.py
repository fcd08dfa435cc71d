"""BBQ's options by Clinometer against lm-evaluation-harness: the largest difference.

    python benchmarks/bbq_harness.py ask WORK FILE...     # in Clinometer's environment
    python benchmarks/bbq_harness.py harness WORK [A:B]   # where lm_eval 0.4.13 is installed

`ask` writes 200 items, evenly from the files, to WORK/items.jsonl and audits SmolLM2 with
them (`audit --topic bbq:… --contexts open`). `harness` scores the same prompts and options with
the same weights, as a multiple-choice task over the local file, and prints one JSON object, of
the items from A up to B if given. It computes in float64: in float32 transformers itself is off by
up to 2e-4. Neither needs a network.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ITEMS = 200
TASK = """task: bbq_local
dataset_path: json
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{context}}}}\\n\\nQ: {{{{question}}}}\\nA:"
doc_to_target: label
doc_to_choice: "{{{{[ans0, ans1, ans2]}}}}"
metric_list:
  - metric: acc
"""


def ask(work: Path, files: list[Path]) -> None:
    """200 items to WORK/items.jsonl, and their options by Clinometer to WORK/run."""
    from clinometer.models import LoadOptions, ModelSpec
    from clinometer.models.catalog.weights import weights_source
    from clinometer.runs import AuditSettings
    from clinometer.runs.bbq import bbq_audit
    from clinometer.storage.untrusted import open_text
    from clinometer.topics.bbq import read_bbq

    lines = []
    for file in files:
        with open_text(file) as stream:
            rows = [line for line in stream if line.strip()]
        each = ITEMS // len(files)
        lines += [rows[i * len(rows) // each] for i in range(each)]
    work.mkdir(parents=True, exist_ok=True)
    items = work / "items.jsonl"
    items.write_text("".join(lines), encoding="utf-8")
    folder = weights_source(ModelSpec.parse("smollm2"))
    (work / "model.txt").write_text(str(folder), encoding="utf-8")
    settings = AuditSettings(load=LoadOptions(device="cpu", dtype="float32"))
    run = bbq_audit(
        "smollm2",
        read_bbq(items),
        name="200",
        formats=["open"],
        out=work / "run",
        settings=settings,
    )
    print(json.dumps({"items": len(lines), "R": run.risks.R.to_dict()}))


def harness(work: Path, chosen: slice) -> None:
    """The same by the harness, and the largest difference."""
    import lm_eval
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    ours, lines = (part[chosen] for part in _ours(work))
    kept = ("context", "question", "ans0", "ans1", "ans2", "label")
    # Some texts of BBQ have a space too many; Clinometer reads them without.
    plain = [
        {k: " ".join(v.split()) if isinstance(v := line[k], str) else v for k in kept}
        for line in lines
    ]
    text = "".join(json.dumps(row) + "\n" for row in plain)
    tasks = work / f"tasks-{chosen.start or 0}"
    tasks.mkdir(exist_ok=True)
    (tasks / "items.jsonl").write_text(text, encoding="utf-8")
    (tasks / "bbq_local.yaml").write_text(TASK.format(file=(tasks / "items.jsonl").resolve()))
    model = HFLM(
        pretrained=(work / "model.txt").read_text(), dtype="float64", device="cpu", batch_size=1
    )
    found = lm_eval.simple_evaluate(
        model=model,
        tasks=["bbq_local"],
        task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        log_samples=True,
        bootstrap_iters=0,
    )
    samples = sorted(found["samples"]["bbq_local"], key=lambda sample: sample["doc_id"])
    theirs = [[float(r[0][0]) for r in sample["resps"]] for sample in samples]
    largest = max(
        abs(a - b) for x, y in zip(ours, theirs, strict=True) for a, b in zip(x, y, strict=True)
    )
    same = sum(x.index(max(x)) == y.index(max(y)) for x, y in zip(ours, theirs, strict=True))
    result = {
        "harness": lm_eval.__version__,
        "items": [chosen.start or 0, (chosen.start or 0) + len(ours)],
        "largest_difference": largest,
        "same_answer": same,
        "accuracy_harness": found["results"]["bbq_local"]["acc,none"],
    }
    print(json.dumps(result))


def _ours(work: Path) -> tuple[list[list[float]], list[dict[str, Any]]]:
    """Our log-probabilities, and their items: all that have been scored so far."""
    rows: list[dict[str, Any]] = [
        json.loads(line)
        for line in (work / "run" / "options.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    by_id = {row["id"]: row["log_probs"] for row in rows}
    lines = [json.loads(t) for t in (work / "items.jsonl").read_text("utf-8").splitlines()]
    names = {f"{line['category']}-{line['example_id']} open": line for line in lines}
    scored = [name for name in names if name in by_id]
    return [by_id[name] for name in scored], [names[name] for name in scored]


if __name__ == "__main__":
    where = Path(sys.argv[2])
    if sys.argv[1] == "ask":
        ask(where, [Path(name) for name in sys.argv[3:]])
    else:
        ends = sys.argv[3].split(":") if len(sys.argv) > 3 else ["", ""]
        harness(where, slice(*(int(end) if end else None for end in ends)))
