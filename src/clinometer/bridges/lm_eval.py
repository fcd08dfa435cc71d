"""lm-evaluation-harness: its samples as runs, and an audit as one of its tasks.

`import_lm_eval` reads the file that `lm_eval --log_samples` writes of any task that asks for
log-likelihoods. `TaskFolder` writes a task for `lm_eval --include_path` that asks for every word of
every cell, so that its samples come back as the run that an audit would have made.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.bridges.imported import (
    KIND,
    SampleCells,
    audited_elsewhere,
    file_digest,
    measured_import,
)
from clinometer.bridges.mapping import SampleMapping, load_mapping, mapping_for
from clinometer.contexts import ContextSet, load_contexts
from clinometer.display.numbers import MEASURES
from clinometer.display.text import visible
from clinometer.errors import (
    ClinometerError,
    ContextError,
    RunError,
    SettingsError,
    TableError,
    TopicError,
)
from clinometer.measure import decompose, membership, preference
from clinometer.models import LoadOptions, ModelInfo, WordReport, WordScores
from clinometer.models.tokens import WordList, local_tokenizer
from clinometer.runs import AuditSettings, Run
from clinometer.runs.cells import CellGrid
from clinometer.runs.folder.record import ImportRecord, MetricRecord
from clinometer.settings import with_settings
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.atomic import replacing
from clinometer.storage.rows import json_lines, reading
from clinometer.storage.untrusted import parse_json, read_bytes
from clinometer.topics import Prompt, Topic, load_topic
from clinometer.topics.load import topic_text

TOOL = "lm-eval"


def import_lm_eval(
    samples: str | Path,
    *,
    mapping: str | SampleMapping | None = None,
    task: str | Path | None = None,
    tokenizer: str | None = None,
    model: str | None = None,
    out: str | Path | None = None,
    settings: AuditSettings | None = None,
    fresh: bool = False,
    **options: Any,
) -> Run:
    """The run that a file samples_TASK_DATE.jsonl of `lm_eval --log_samples` holds.

    Args:
        samples: the file; results_DATE.json next to it names the model and its metrics.
        mapping: a ready mapping by name, or a .toml file; without one, that of the task.
        task: instead of a mapping, the folder of `clinometer export lm-eval`, for its own samples.
        tokenizer: with `task`, the model's (a folder, a packaged model, a hub id): it tells which
            words are written alike; without it only their texts do.
        model: what to call the model, if not as the harness does.
        out: the folder of the run; None keeps it in memory.
        settings, options: of the measures and intervals, as in `clinometer.audit`.
        fresh: replace another run in `out`.
    """
    settings = with_settings(settings or AuditSettings(), options)
    path, folder = Path(samples), None if out is None else Path(out)
    results = read_results(path, model=model)
    source = partial(
        ImportRecord,
        tool=TOOL,
        version=results.version,
        task=results.task,
        file=visible(path.name),
        sha256=file_digest(path),
    )
    if task is not None:
        exported = TaskFolder.read(Path(task))
        scores, report = exported.scores(path, tokenizer)
        return audited_elsewhere(
            exported.grid,
            scores,
            report,
            results.model,
            source(samples=len(exported.grid)),
            settings,
            scoring={"imported.tokenizer": tokenizer},
            out=folder,
            fresh=fresh,
        )
    if results.task.startswith(PREFIX) and mapping is None:
        raise SettingsError(
            f"{path}: holds samples of a task that clinometer exported; name its folder with --task"
        )
    if not isinstance(mapping, SampleMapping):
        mapping = mapping_for(results.task) if mapping is None else load_mapping(mapping)
    for name, formula in mapping.metrics.items():
        if formula not in FORMULAS:
            raise SettingsError(
                f"metrics.{name}: expected one of {', '.join(FORMULAS)}; found {formula!r}"
            )
    cells = SampleCells(mapping)
    metrics: dict[str, list[float]] = {name: [] for name in mapping.metrics}
    n = 0
    for sample in read_samples(path):
        n += 1
        for name, formula in mapping.metrics.items():
            try:
                metrics[name].append(FORMULAS[formula](sample))
            except ValueError:
                raise SettingsError(
                    f"{sample.where}: metrics.{name}: {formula!r} needs two answers, found "
                    f"{len(sample.answers)}; leave the metric out of the mapping"
                ) from None
        _add(sample, cells)
    compared = {
        name: MetricRecord(
            reported=results.metrics.get(name), recomputed=math.fsum(values) / len(values)
        )
        for name, values in metrics.items()
        if values
    }
    record = source(samples=n, metrics=compared)
    return measured_import(cells, results.model, record, settings, out=folder, fresh=fresh)


def _add(sample: HarnessSample, cells: SampleCells) -> None:
    fields, where, mapping = sample.fields, sample.where, cells.mapping
    place = cells.place(fields, where=where)
    if place is None:
        return
    if mapping.category:
        said = mapping.written(mapping.category, fields, where=where)
        cells.add_answer(place, said, sample.log_probs[0])
        return
    log_probs: dict[str, list[float]] = {}
    for position, (answer, log_prob) in enumerate(
        zip(sample.answers, sample.log_probs, strict=True)
    ):
        category = mapping.category_of(answer, position, fields, where=where)
        if category is not None:
            log_probs.setdefault(category, []).append(log_prob)
    cells.add(place, {c: float(np.logaddexp.reduce(logs)) for c, logs in log_probs.items()})


#: samples_TASK_DATE.jsonl; the date has dashes where others have colons.
_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl(\.gz)?")
#: Bytes of a file of samples: they are read line by line.
_MOST = 16 << 30
#: How far probabilities may add up beyond 1: half precision.
_ROUNDING = 0.02
#: This many answers that are all equally likely are no model's.
_ENOUGH = 20
_UNKNOWN = "N/A"  # what the harness writes for a model that has no such thing


@dataclass(frozen=True)
class HarnessSample:
    """A document with the log-likelihood of each of its answers.

    where    the line, for errors
    fields   of the document, and doc_id
    prompts  what each answer was asked after
    target   the right answer, as the harness writes it
    """

    where: str
    fields: Mapping[str, Any]
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
    log_probs: tuple[float, ...]
    target: str


@dataclass(frozen=True)
class HarnessResults:
    """What results_DATE.json says of the run that a file of samples belongs to."""

    task: str
    model: ModelInfo
    version: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)


def read_samples(path: Path) -> Iterator[HarnessSample]:
    """Samples of the first filter; an invalid line is an error that names it."""
    first_filter: str | None = None
    seen: dict[str, int] = {}
    values: set[float] = set()
    n_values = 0
    for where, plain in json_lines(path, most=_MOST, loose=True):
        name = plain.get("filter", "")
        first_filter = name if first_filter is None else first_filter
        if name != first_filter:
            continue
        sample = _sample(plain, where)
        numbers, doc = hash(sample.log_probs), plain.get("doc_id")
        if doc is not None and seen.setdefault(repr(doc), numbers) != numbers:
            raise TableError(
                f"{where}: expected one set of numbers for each document, found another "
                f"for doc_id {doc!r}; import one evaluation"
            )
        values.update(sample.log_probs if len(values) < 2 else ())
        n_values += len(sample.log_probs)
        yield sample
    if len(values) == 1 and n_values >= _ENOUGH:
        raise TableError(
            f"{path}: expected log-likelihoods that differ, found {min(values):.3g} {n_values} "
            "times: these are not a model's; import what lm_eval wrote"
        )


def read_results(path: Path, *, model: str | None = None) -> HarnessResults:
    """What the name of a file of samples and the results next to it say about the run.

    `model` overrides the name that the harness gives it.
    """
    name = _NAME.fullmatch(path.name)
    task = name["task"] if name else path.name.partition(".")[0].removeprefix("samples_")
    file = path.with_name(f"results_{name['date']}.json") if name else None
    plain: dict[str, Any] = {}
    if file is not None and file.is_file():
        with reading(file, TableError):
            plain = _object(parse_json(read_bytes(file), loose=True))
    config = _object(plain.get("config"))
    called = model or plain.get("model_name") or path.resolve().parent.name.replace("__", "/")
    parameters = config.get("model_num_parameters")
    metrics: dict[str, float] = {}
    for metric, value in _object(_object(plain.get("results")).get(task)).items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            # "acc,none" is acc under the filter none
            metrics.setdefault(metric.partition(",")[0], float(value))
    return HarnessResults(
        task=task,
        model=ModelInfo(
            name=str(called),
            kind=KIND,
            revision=_text(config.get("model_sha")) or _text(config.get("model_revision")),
            dtype=_text(config.get("model_dtype")).removeprefix("torch."),
            device=_text(config.get("device")),
            parameters=parameters if isinstance(parameters, int) and parameters > 0 else None,
        ),
        version=_text(plain.get("lm_eval_version")),
        metrics=metrics,
    )


def _sample(plain: Mapping[str, Any], where: str) -> HarnessSample:
    document = plain.get("doc")
    if not isinstance(document, dict) or "arguments" not in plain:
        raise TableError(
            f"{where}: expected a sample of lm_eval --log_samples (doc, arguments, resps), found "
            f"{', '.join(list(plain)[:8]) or 'an empty object'}"
        )
    requests = [_request(request, where) for request in _listed(plain["arguments"])]
    answers = tuple(answer for _, answer in requests)
    replies = _listed(plain.get("filtered_resps") or plain.get("resps"))
    if len(replies) != len(answers) or not answers:
        raise TableError(
            f"{where}: expected a response to each of {len(answers)} requests, found {len(replies)}"
        )
    found = HarnessSample(
        where=where,
        fields={"doc_id": plain.get("doc_id"), **document},
        prompts=tuple(prompt for prompt, _ in requests),
        answers=answers,
        log_probs=tuple(_log_prob(reply, where) for reply in replies),
        target=str(plain.get("target", "")),
    )
    _check_possible(found)
    return found


def _check_possible(sample: HarnessSample) -> None:
    """Refuse a distribution that cannot be: after one prompt, answers of which none begins another
    exclude each other, so their probabilities add up to at most 1."""
    together: dict[str, dict[str, float]] = {}
    for prompt, answer, log_prob in zip(
        sample.prompts, sample.answers, sample.log_probs, strict=True
    ):
        together.setdefault(prompt, {})[answer] = log_prob
    for log_probs in together.values():
        total, last = 0.0, None
        for answer in sorted(log_probs):  # what begins with another follows it
            if last is None or not answer.startswith(last):
                total, last = total + math.exp(log_probs[answer]), answer
        if total > 1 + _ROUNDING:
            raise TableError(
                f"{sample.where}: expected answers with a probability of at most 1 together, found "
                f"{total:.3g}: these are not log-likelihoods; import what lm_eval wrote"
            )


def _listed(value: Any) -> list[Any]:
    """A list, also where the harness wrote an object (gen_args_0, gen_args_1, …)."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _request(request: Any, where: str) -> tuple[str, str]:
    """A prompt and its continuation: the first two arguments."""
    arguments = _listed(request)
    if len(arguments) < 2 or not isinstance(arguments[1], str):
        raise _not_likelihoods(where)
    return str(arguments[0]), arguments[1]


def _log_prob(reply: Any, where: str) -> float:
    """["-3.2", "False"], or a list of such, one per repetition."""
    while isinstance(reply, list) and reply and isinstance(reply[0], list):
        reply = reply[0]
    if not isinstance(reply, list) or len(reply) != 2:
        raise _not_likelihoods(where)
    try:
        value = float(reply[0])
    except (TypeError, ValueError):
        raise _not_likelihoods(where) from None
    if math.isnan(value) or value > 0:
        raise TableError(f"{where}: expected a log-likelihood, found {value}")
    return value


def _not_likelihoods(where: str) -> ClinometerError:
    return TableError(
        f"{where}: expected log-likelihoods of answers; this task has the model write instead: "
        "import a task of the type multiple_choice or loglikelihood"
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return "" if value is None or value == _UNKNOWN else str(value)


def _log_ratio(sample: HarnessSample) -> float:
    first, second = sample.log_probs
    return first - second


#: What a mapping may say of a metric; each is a mean over the samples.
#: first likelier: 1 where the first of two answers is the likelier one
#: log ratio: how far the log-likelihoods of two answers are apart
#: accuracy: 1 where the likeliest answer is the right one
FORMULAS: dict[str, Callable[[HarnessSample], float]] = {
    "first likelier": lambda sample: float(_log_ratio(sample) > 0),
    "log ratio": lambda sample: abs(_log_ratio(sample)),
    "accuracy": lambda sample: float(str(np.argmax(sample.log_probs)) == sample.target),
}


class HarnessWords:
    """The words of a topic, by a tokenizer or as far as texts tell.

    Without a tokenizer, a word of several ("her own") is known to begin with a shorter one ("her");
    whether "grandson" begins with the tokens of "grand" is not.

    >>> words = HarnessWords(("her", "her own", "he"))
    >>> words.report.prefixes
    {'her': ('her own',)}
    """

    def __init__(
        self, words: Sequence[str], *, tokenizer: str | None = None, space: bool = True
    ) -> None:
        self.words = tuple(words)
        if tokenizer is None:
            longer = {word: _nearest(word, words) for word in words}
            self.report = WordReport(
                tokens={word: (word,) for word in words},
                prefixes={word: others for word, others in longer.items() if others},
            )
        else:
            loaded = local_tokenizer(tokenizer, LoadOptions())
            self.report = WordList(loaded, words, space=space).report

    def scores(self, log_probs: FloatArray, prompts: Sequence[Prompt]) -> WordScores:
        """[P, V] log-likelihoods of the harness as scores of "this word and no longer one".

        Where text follows the slot, the harness has scored each word with that text: such events
        exclude each other as they are.
        """
        column = {word: i for i, word in enumerate(self.words)}
        out = np.array(log_probs, dtype=np.float64)
        out[:, [column[word] for word in self.report.left_out]] = -np.inf
        inside = {word for longer in self.report.prefixes.values() for word in longer}
        top = [i for word, i in column.items() if word not in inside]
        with np.errstate(divide="ignore"):
            coverage = np.log(np.minimum(np.exp(out[:, top]).sum(axis=1), 1.0))
        ends = np.array([not prompt.after for prompt in prompts])
        for word, longer in self.report.prefixes.items():
            i, others = column[word], [column[other] for other in longer]
            rest = np.exp(log_probs[:, i]) - np.exp(log_probs[:, others]).sum(axis=1)
            with np.errstate(divide="ignore"):
                out[ends, i] = np.log(np.maximum(rest, 0.0))[ends]
        return WordScores(log_probs=out, log_coverage=coverage, skipped=np.zeros(len(out)))


def _nearest(word: str, words: Sequence[str]) -> tuple[str, ...]:
    """Listed words that begin with this one and a space, and with no longer listed one."""
    longer = [w for w in words if w.startswith(f"{word} ")]
    return tuple(w for w in longer if not any(w.startswith(f"{other} ") for other in longer))


PREFIX = "clinometer_"
_TOPIC, _CONTEXTS = "topic.toml", "contexts.csv"

_TASK = """\
# Written by clinometer export lm-eval.
task: {name}
tag: clinometer
custom_dataset: !function utils.cells
test_split: test
output_type: multiple_choice
doc_to_text: before
doc_to_choice: choices
doc_to_target: 0
target_delimiter: ""
process_results: !function utils.process_results
metric_list:
{metrics}metadata:
  version: 1.0
"""
_METRIC = """\
  - metric: {0}
    aggregation: !function utils.{0}
    higher_is_better: false
"""

_UTILS = '''\
"""What the task calls; it needs clinometer beside lm_eval (pip install clinometer)."""

from functools import cache
from pathlib import Path

from clinometer.bridges.lm_eval import TaskFolder


@cache
def _task():
    return TaskFolder.read(Path(__file__).parent)


def cells(**_):
    return _task().dataset()


def process_results(doc, results):
    return _task().process_results(doc, results)
'''
_AGGREGATION = """

def {0}(items):
    return _task().risk("{0}", items)
"""
#: (cell, its preferences), as the harness keeps them for a metric.
CellValue = tuple[int, list[float]]


@dataclass(frozen=True)
class TaskFolder:
    """The topic and the contexts of an exported task, and what its utils.py calls."""

    topic: Topic
    contexts: ContextSet

    @classmethod
    def read(cls, path: Path) -> TaskFolder:
        """The folder that `write` wrote."""
        if not (path / _TOPIC).is_file():
            raise RunError(
                f"{path}: expected a folder of 'clinometer export lm-eval', found no {_TOPIC} in it"
            )
        return cls(load_topic(path / _TOPIC), load_contexts(path / _CONTEXTS))

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.topic.name}"

    @cached_property
    def digest(self) -> str:
        """Names the folder in each of its documents."""
        both = f"{self.topic.sha256} {self.contexts.sha256}"
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    @cached_property
    def grid(self) -> CellGrid:
        return CellGrid(self.topic, self.contexts, chunk_size=256)

    def documents(self) -> Iterator[dict[str, Any]]:
        """One per cell, in the order of their numbers."""
        cells = range(len(self.grid))
        groups, contexts = self.grid.places(np.arange(len(self.grid), dtype=np.int64))
        for cell, prompt in enumerate(self.grid.prompts(cells)):
            yield {
                "clinometer": self.digest,
                "cell": cell,
                "group": self.topic.group_names[groups[cell]],
                "context": self.contexts.templates[contexts[cell]],
                "before": prompt.before,
                "choices": list(self._choices(prompt)),
            }

    def _choices(self, prompt: Prompt) -> tuple[str, ...]:
        """What the harness scores after a prompt: each word with the text that follows it."""
        space = " " if prompt.space else ""
        return tuple(f"{space}{word}{prompt.after}" for word in self.topic.words)

    def write(self, path: Path) -> None:
        """Write the folder; files of an earlier export are replaced."""
        if self.topic.readout is not None or isinstance(self.topic.reference, str):
            raise TopicError(
                f"topic {self.topic.name!r}: expected words at the slot of a sentence, and a fixed "
                "reference; questions ([readout]) and group-mean cannot be asked by the harness, "
                "but by 'clinometer audit' and 'inspect eval clinometer/audit'"
            )
        if any(not prompt.before for prompt in self.grid.prompts(range(len(self.grid)))):
            raise ContextError(
                f"contexts {self.contexts.name!r}: the harness needs text before the slot: use "
                "templates that do not begin with [Y]"
            )
        path.mkdir(parents=True, exist_ok=True)
        self.contexts.save(path / _CONTEXTS)
        metrics = "".join(map(_METRIC.format, MEASURES))
        texts = {
            _TOPIC: topic_text(self.topic),
            "utils.py": _UTILS + "".join(map(_AGGREGATION.format, MEASURES)),
            f"{self.name}.yaml": _TASK.format(name=self.name, metrics=metrics),
        }
        for name, content in texts.items():
            with replacing(path / name, error=RunError) as beside:
                beside.write_text(content, encoding="utf-8")

    @cached_property
    def _counts(self) -> FloatArray:
        return membership(self.topic.words, self.topic.attributes, shared=self.topic.shared)

    def dataset(self) -> Any:
        """The documents, as the harness takes a dataset."""
        import datasets

        return {"test": datasets.Dataset.from_list(list(self.documents()))}

    def process_results(
        self, doc: dict[str, Any], results: Sequence[tuple[float, bool]]
    ) -> dict[str, CellValue]:
        """A cell's preferences, for each of the metrics."""
        log_probs = np.array([[log_prob for log_prob, _ in results]])
        prompts = self.grid.prompts(range(doc["cell"], doc["cell"] + 1))
        scores = HarnessWords(self.topic.words).scores(log_probs, prompts)
        p = preference(scores.log_probs, self._counts).p[0].tolist()
        return dict.fromkeys(MEASURES, (int(doc["cell"]), p))

    def risk(self, name: str, items: Sequence[CellValue]) -> float:
        """R, R_bias or R_volatility of the cells that were asked (all, but with --limit)."""
        topic = self.topic
        p = np.full((len(topic), len(self.contexts), len(topic.categories)), np.nan)
        cells = np.array([cell for cell, _ in items], dtype=np.int64)
        p[self.grid.places(cells)] = [values for _, values in items]
        report = decompose(
            p,
            context_weights=self.contexts.weights,
            group_weights=topic.group_weights,
            reference=topic.reference if isinstance(topic.reference, tuple) else None,
            mask=~np.isnan(p).any(axis=2),
            categories=topic.categories,
        )
        return float(report.summary[name].value)

    def scores(self, samples: Path, tokenizer: str | None) -> tuple[WordScores, WordReport]:
        """What the samples of this task say: every word of every cell, as an audit has them."""
        log_probs = np.full((len(self.grid), len(self.topic.words)), np.nan)
        for sample in read_samples(samples):
            cell = self._cell(sample)
            if not np.isnan(log_probs[cell]).all():
                raise RunError(
                    f"{sample.where}: expected each cell once, found cell {cell} again; import one "
                    "evaluation"
                )
            log_probs[cell] = sample.log_probs
        scored = int((~np.isnan(log_probs).any(axis=1)).sum())
        if scored < len(self.grid):
            raise RunError(
                f"{samples}: expected samples of {len(self.grid)} cells, found {scored}; run the "
                "task without --limit, or export fewer contexts (--max-contexts)"
            )
        prompts = self.grid.prompts(range(len(self.grid)))
        words = HarnessWords(self.topic.words, tokenizer=tokenizer, space=prompts[0].space)
        return words.scores(log_probs, prompts), words.report

    def _cell(self, sample: HarnessSample) -> int:
        """The number of a sample's cell, after checking that it belongs to this task."""
        if sample.fields.get("clinometer") != self.digest:
            raise SettingsError(
                f"{sample.where}: is not of the task in --task (another topic, or other contexts); "
                "name the folder that was exported for it"
            )
        cell, words = sample.fields.get("cell"), len(self.topic.words)
        if type(cell) is not int or not 0 <= cell < len(self.grid):  # True would be every cell
            raise RunError(f"{sample.where}: expected the number of a cell, found {cell!r}")
        if len(sample.log_probs) != words:
            raise RunError(
                f"{sample.where}: expected {words} choices, found {len(sample.log_probs)}"
            )
        asked = self.grid.prompts(range(cell, cell + 1))[0]
        if sample.answers != self._choices(asked):
            raise RunError(
                f"{sample.where}: expected the words of the topic in their order, found other "
                "choices; export the task again, and evaluate that"
            )
        if any(asked.before not in prompt for prompt in sample.prompts):  # a template may enclose
            raise RunError(
                f"{sample.where}: expected the text of cell {cell} as its prompt, found another; "
                "export the task again, and evaluate that"
            )
        return cell
