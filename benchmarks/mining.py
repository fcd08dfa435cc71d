"""Speed and memory of the miner, against spaCy over every sentence of the same articles.

    python benchmarks/mining.py ../shared/data/corpora/wikipedia_en_recent.jsonl.zst --articles 1500
    python benchmarks/mining.py CORPUS --ways       # one process, two, shards, datatrove, Ray
    python benchmarks/mining.py CORPUS --kill       # shards killed ten times, finished, compared
    python benchmarks/mining.py CORPUS --long-line  # a corpus of one line of 300 MB

Each way runs in a process of its own, one after the other, on the same articles: the first N of the
corpus. `pipe` is `nlp.pipe` with the same pipeline, all its components, over the sentences that the
miner's own splitter cuts. Memory is the largest resident set of the process. `--ways` counts the
processor time and memory of every process that a way starts, sampled ten times a second (Ray's own
among them), and repeats a corpus that is shorter than N with another id for each article.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from clinometer.contexts.mining import MineSettings, mine
from clinometer.contexts.mining.corpora import articles, find_sources
from clinometer.contexts.mining.languages.english.parser import DEFAULT_PARSER
from clinometer.contexts.mining.languages.english.sentences import sentences
from clinometer.topics import load_topic


def first_articles(corpus: str, number: int, folder: Path) -> Path:
    """The first articles of a corpus as a file of their own."""
    path = folder / "articles.jsonl"
    texts = articles(find_sources([corpus])[0], field="text", damage=Counter())
    with path.open("w", encoding="utf-8") as file:
        for text in itertools.islice(texts, number):
            file.write(json.dumps({"text": text}) + "\n")
    return path


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def by_mining(path: Path, topic: str) -> dict[str, object]:
    import spacy

    spacy.load(DEFAULT_PARSER).pipe(
        []
    )  # imports and loading are paid before the clock starts
    settings = MineSettings(topic=load_topic(topic), sample=None)
    start, cpu = time.perf_counter(), time.process_time()
    contexts = mine([path], path.with_name(f"{topic}.csv"), settings, fresh=True)
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "sentences_parsed": contexts.metadata.sentences_parsed,
        "peak_mb": peak_mb(),
    }


def by_pipe(path: Path) -> dict[str, object]:
    import spacy

    nlp = spacy.load(DEFAULT_PARSER)
    start, cpu = time.perf_counter(), time.process_time()
    parsed = 0
    texts = articles(find_sources([str(path)])[0], field="text", damage=Counter())
    cut = (text[a:b] for text in texts for a, b in sentences(text))
    for _ in nlp.pipe(cut, batch_size=64):
        parsed += 1
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "sentences_parsed": parsed,
        "peak_mb": peak_mb(),
    }


def apart(*arguments: str) -> dict[str, float]:
    """Run a part of this script in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def speed(corpus: str, number: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(first_articles(corpus, number, Path(folder)))
        pipe = apart(path, "--part", "pipe")
        result: dict[str, object] = {"articles": number, "pipe": pipe}
        for topic in ("gender", "race"):
            ours = apart(path, "--part", topic)
            result[topic] = ours
            result[f"{topic}_times_faster"] = round(
                pipe["seconds"] / ours["seconds"], 2
            )
            result[f"{topic}_times_less_cpu"] = round(
                pipe["cpu_seconds"] / ours["cpu_seconds"], 2
            )
            result[f"{topic}_share_of_sentences_parsed"] = round(
                ours["sentences_parsed"] / pipe["sentences_parsed"], 4
            )
        return result


WAYS: dict[str, list[str | list[str]]] = {
    "1 process": [["--sample", "all"]],
    "2 processes": [["--sample", "all", "--processes", "2"]],
    "8 shards": [
        *(["--sample", "all", "--shard", f"{i}/8"] for i in range(8)),
        ["--sample", "all"],
    ],
    "datatrove, 2 workers": ["local", ["--sample", "all"]],
    "Ray, 2 workers": ["ray", ["--sample", "all"]],
}


def executed(engine: str, path: str, out: str, folder: str) -> None:
    """Mine on an executor of datatrove with two workers and eight tasks."""
    from clinometer.cluster import Mining

    pipeline: list[object] = [
        Mining([path], out, MineSettings(topic=load_topic("gender"), sample=None))
    ]
    if engine == "local":
        from datatrove.executor import LocalPipelineExecutor

        LocalPipelineExecutor(pipeline, tasks=8, workers=2, logging_dir=folder).run()
        return
    import ray
    from datatrove.executor.ray import RayPipelineExecutor

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    RayPipelineExecutor(
        pipeline,
        tasks=8,
        workers=2,
        cpus_per_task=1,
        mem_per_cpu_gb=1,
        logging_dir=folder,
    ).run()
    ray.shutdown()


def watched(command: list[str]) -> tuple[float, float, float]:
    """Seconds, processor seconds of all processes, and the largest process in MB."""
    import psutil

    start, seen, largest = time.perf_counter(), dict[int, float](), 0.0
    running = psutil.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while running.poll() is None:
        with contextlib.suppress(psutil.Error):
            for process in [running, *running.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    times = process.cpu_times()
                    seen[process.pid] = times.user + times.system
                    largest = max(largest, process.memory_info().rss / 1024**2)
        time.sleep(0.1)
    if running.returncode:
        raise SystemExit(f"{command} ended with {running.returncode}")
    return time.perf_counter() - start, sum(seen.values()), largest


def ways(corpus: str, number: int, first: int) -> dict[str, object]:
    """Every way to divide the work, one after the other, and whether the sets have equal bytes."""
    with tempfile.TemporaryDirectory() as name:
        path, result = Path(name) / "articles.jsonl", dict[str, object](articles=number)
        texts = list(
            articles(find_sources([corpus])[0], field="text", damage=Counter())
        )
        with path.open("w", encoding="utf-8") as file:
            for n, text in enumerate(itertools.islice(itertools.cycle(texts), number)):
                file.write(json.dumps({"id": n, "text": text}) + "\n")
        sets = set[tuple[bytes, bytes]]()
        for way, steps in list(WAYS.items())[:first]:
            out = Path(name) / way / "contexts.csv"
            out.parent.mkdir()
            total = [0.0, 0.0, 0.0]
            for step in steps:
                if isinstance(step, str):
                    rest = ["--engine", step, "--out", str(out)]
                    taken = watched([sys.executable, __file__, str(path), *rest])
                else:
                    code = "from clinometer.cli import main; main()"
                    rest = ["mine", str(path), "--out", str(out), *step]
                    taken = watched([sys.executable, "-c", code, *rest])
                total = [
                    total[0] + taken[0],
                    total[1] + taken[1],
                    max(total[2], taken[2]),
                ]
            sets.add((out.read_bytes(), out.with_suffix(".json").read_bytes()))
            keys = ("seconds", "cpu_seconds", "peak_mb")
            result[way] = dict(zip(keys, (round(t, 1) for t in total), strict=True))
            print(json.dumps({way: result[way]}), file=sys.stderr, flush=True)
        return {**result, "same_bytes": len(sets) == 1}


def kill(corpus: str, number: int) -> dict[str, object]:
    """Ten times a shard is begun and killed after its next piece; then the rest is done."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = first_articles(corpus, number, folder)
        code = "from clinometer.cli import main; main()"
        mining = [
            sys.executable,
            "-c",
            code,
            "mine",
            str(path),
            "--sample",
            "all",
            "--out",
        ]
        whole, killed = folder / "whole" / "c.csv", folder / "killed" / "c.csv"
        for out in (whole, killed):
            out.parent.mkdir()
        subprocess.run([*mining, str(whole)], check=True, capture_output=True)
        parts, written = folder / "killed" / "c.csv.mining" / "parts", dict[Path, int]()
        again = 0
        for turn in range(10):
            shard = [*mining, str(killed), "--shard", f"{turn % 2}/2"]
            running = subprocess.Popen(
                shard, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while running.poll() is None and len(list(parts.glob("*.json"))) <= len(
                written
            ):
                time.sleep(0.02)
            running.send_signal(signal.SIGKILL)
            running.wait()
            now = {part: part.stat().st_mtime_ns for part in parts.glob("*.json")}
            again += sum(now[part] != at for part, at in written.items())
            written = now
        subprocess.run([*mining, str(killed)], check=True, capture_output=True)
        same = all(
            whole.with_suffix(ending).read_bytes()
            == killed.with_suffix(ending).read_bytes()
            for ending in (".csv", ".json")
        )
        return {"articles": number, "done_twice": again, "same_bytes": same}


def long_line() -> dict[str, object]:
    """A corpus of one line of 300 MB: what is said, what is left, and the memory it took."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "long.jsonl"
        with path.open("wb") as file:
            file.write(b'{"text": "')
            for _ in range(300):
                file.write(b"He said that he was ill. " * (1024 * 1024 // 25))
            file.write(b'"}')
        code = (
            "import resource, sys\nfrom clinometer.cli import main\n"
            "try: main()\nfinally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, "mine", str(path), "--out", f"{name}/c.csv"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return {
            "bytes": path.stat().st_size,
            "exit_status": done.returncode,
            "message": done.stderr.strip(),
            "peak_mb": int(done.stdout.split()[-1]) / 1024,
            "left": sorted(p.name for p in Path(name).iterdir()),
        }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("corpus")
    arguments.add_argument("--articles", type=int, default=1500)
    arguments.add_argument(
        "--ways", type=int, nargs="?", const=5, help="the first so many ways, or all"
    )
    arguments.add_argument(
        "--kill", action="store_true", help="the kill instead of the speed"
    )
    arguments.add_argument(
        "--long-line", action="store_true", help="the long line instead"
    )
    for hidden in ("--part", "--engine", "--out"):
        arguments.add_argument(hidden, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.engine:
        executed(options.engine, options.corpus, options.out, f"{options.out}.logs")
        return
    if options.part == "pipe":
        result = by_pipe(Path(options.corpus))
    elif options.part:
        result = by_mining(Path(options.corpus), options.part)
    elif options.ways:
        result = ways(options.corpus, options.articles, options.ways)
    elif options.kill:
        result = kill(options.corpus, options.articles)
    elif options.long_line:
        result = long_line()
    else:
        result = speed(options.corpus, options.articles)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
