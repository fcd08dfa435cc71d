"""Questions instead of sentences: the answers are scored, or sampled replies are read.

A reply's first words are its answer, so the exact probability of an option is that of its label or
text where the reply begins: after the question for a base model, at the start of the assistant's
turn for a chat model. Everything else the model could write there is `other`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.errors import ModelError, SettingsError, TopicError
from clinometer.extras import require
from clinometer.models.catalog.pretrained import hub_reachable, loading, pretrained
from clinometer.models.catalog.spec import ModelSpec, on_this_machine
from clinometer.models.open import open_model
from clinometer.models.options import QUESTION, LoadOptions
from clinometer.models.prices import price_of
from clinometer.models.protocol import ModelInfo, Scorer, WordReport, WordScores
from clinometer.models.sampled import shares
from clinometer.readouts.choice import ChoiceReader
from clinometer.readouts.question import (
    OPTIONS,
    ShownQuestion,
    lay_out,
    option_orders,
    with_order,
)
from clinometer.readouts.readers import FunctionReader, Readout, WordCountReader
from clinometer.readouts.reply import (
    OTHER,
    UNREAD,
    refuses,
    spoken,
    unread,
    without_opening,
)
from clinometer.readouts.scores import ScoreReader
from clinometer.readouts.tables import (
    ChoiceTable,
    RatingTable,
    ReadoutTable,
    ScoreTable,
    TextTable,
)
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.storage.reply_log import ReplyLog
from clinometer.storage.untrusted import Allowed
from clinometer.topics import Prompt, Topic

if TYPE_CHECKING:
    from clinometer.models.client.client import Client

_FILL_GAPS = ("masked", "permutation")
"""Kinds of models that fill gaps in a text and cannot reply to one."""

_BATCH = 32
"""Replies that a classifier reads together."""

JUDGED = "judge_"
"""How the names begin of what a judge has used."""

_LEAST_COVERED = 0.05
"""The probability that a judge's options need together."""


@dataclass(frozen=True)
class ReadoutQuery:
    """What the answers of a topic are: its readout and its categories with their words."""

    topic: str
    table: ReadoutTable
    attributes: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, topic: Topic) -> ReadoutQuery:
        """Return the query of a topic."""
        return cls(topic.name, topic.readout, dict(topic.attributes))

    def check(self, load: LoadOptions) -> None:
        """Refuse settings under which the topic cannot be asked, before a model is opened."""
        if not self.table.exact and load.sampled is None:
            raise SettingsError(
                f"topic {self.topic!r}: its readout {self.table.kind!r} reads whole replies; add "
                "--replies 20, replies per question"
            )
        if self.table.asks and load.sampled is not None:
            open_reader(self.table, self.attributes, load.allowed)


class ReplyScorer(Scorer):
    """A scorer of words as a scorer of answers to questions; `reader` reads sampled replies."""

    def __init__(
        self,
        scorer: Scorer,
        query: ReadoutQuery,
        *,
        chat: bool,
        reader: Readout | None = None,
    ) -> None:
        if scorer.info.kind in _FILL_GAPS:
            raise ModelError(
                f"{scorer.info.name}: a {scorer.info.kind} model fills gaps and cannot answer the "
                f"questions of topic {query.topic!r}; use a causal, chat or served model"
            )
        self.scorer = scorer
        self.client = scorer.client
        self.query = query
        self.chat = chat
        self._reader = reader
        self._judge = reader if isinstance(reader, JudgeReader) else None
        if self._judge is not None:
            self._judge.beside = scorer.client
        self._reader_lock = threading.Lock()

    @property
    def info(self) -> ModelInfo:  # type: ignore[override]  # it changes with the first replies
        return self.scorer.info

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """Return how texts are written; labels are checked when they are scored."""
        if self.info.kind == "sampled" or self.query.table.label_style != "none":
            return WordReport(tokens={word: (word,) for word in words})
        report = self.scorer.word_report(words, space=space and not self.chat)
        self._check(report)
        return report

    def generate(self, prompts: Sequence[Prompt]) -> tuple[tuple[str, ...], ...]:
        return self.scorer.generate(prompts)

    @property
    def blocks_at_once(self) -> int:
        return self.scorer.blocks_at_once

    def keep(self, log: ReplyLog) -> None:
        self.scorer.keep(log)

    def keep_judged(self, log: ReplyLog) -> None:
        """Keep what a judge says in the log as it comes, and ask for nothing that the log has."""
        if self._judge is not None:
            self._judge.log = log

    def halt(self) -> None:
        self.scorer.halt()
        if self._judge is not None:
            self._judge.halt()

    def usage(self) -> dict[str, int]:
        """Return what the model has used, and its judge by names of its own."""
        used = self.scorer.usage()
        if self._judge is not None:
            for name, count in self._judge.usage().items():
                used[JUDGED + name] = count
        return used

    def close(self) -> None:
        self.scorer.close()
        if self._judge is not None:
            self._judge.close()

    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None = None,
    ) -> WordScores:
        """Return scores with a column for each word of the topic, in any order of the options."""
        if self._reader is not None and self.info.kind == "sampled":
            replies = self.scorer.generate(prompts)
            with self._reader_lock:  # a reader may be a model
                return read_replies(
                    self._reader, self.query.attributes, prompts, words, replies
                )
        rows_of_answers: dict[tuple[str, ...], list[int]] = {}
        for row, prompt in enumerate(prompts):
            texts = tuple(sorted(set(_answers(prompt)) - {""}))
            rows_of_answers.setdefault(texts, []).append(row)
        parts: list[WordScores] = []
        scored_rows: list[int] = []
        for texts, rows in rows_of_answers.items():
            parts.append(self._exact([prompts[row] for row in rows], texts))
            scored_rows += rows
        return WordScores.joined(parts).take(np.argsort(scored_rows))

    def _exact(self, prompts: Sequence[Prompt], texts: tuple[str, ...]) -> WordScores:
        """Score prompts with the same answers, in any order."""
        if self.chat:  # the reply opens the assistant's turn
            prompts = [replace(prompt, space=False) for prompt in prompts]
        scores = self.scorer.score(prompts, texts)
        report = self.scorer.word_report(texts, space=prompts[0].space)
        self._check(report)
        scale = np.ones(len(texts))
        if self.query.table.normalisation == "per-token":
            scale = 1.0 / np.array([len(report.tokens[text]) for text in texts])
        columns = _columns(prompts, texts)
        upper = scores.log_upper
        if upper is not None:
            upper = _placed(upper * scale, columns)
        log_probs = _placed(scores.log_probs * scale, columns)
        return replace(scores, log_probs=log_probs, log_upper=upper)

    def _check(self, report: WordReport) -> None:
        """Refuse options that the model cannot write or tell apart."""
        for text in report.unwritable:
            raise ModelError(
                f"{self.info.name}: its tokenizer cannot write the option {text!r}; "
                "give it another text"
            )
        for text, same in report.same_tokens.items():
            raise ModelError(
                f"{self.info.name}: the options {same!r} and {text!r} are the same tokens; give "
                "them other texts"
            )


def _answers(prompt: Prompt) -> tuple[str, ...]:
    """Return the answer of each word of the topic to a prompt; "" for a word that is none."""
    return () if prompt.shown is None else prompt.shown.answers


def _columns(prompts: Sequence[Prompt], texts: Sequence[str]) -> IntArray:
    """Return which of the texts is the answer of each word of the topic [P, V]; -1: none."""
    index = {text: i for i, text in enumerate(texts)}
    rows = []
    for prompt in prompts:
        rows.append([index.get(answer, -1) for answer in _answers(prompt)])
    return np.array(rows)


def _placed(values: FloatArray, columns: IntArray) -> FloatArray:
    """Return scores of the answers [P, A] in the columns of the topic's words [P, V]; -1: none."""
    nothing = np.full((len(values), 1), -np.inf)
    padded = np.concatenate([values, nothing], axis=1)
    return np.take_along_axis(padded, columns, axis=1)


def read_replies(
    reader: Readout,
    attributes: Mapping[str, tuple[str, ...]],
    prompts: Sequence[Prompt],
    words: Sequence[str],
    replies: Sequence[tuple[str, ...]],
) -> WordScores:
    """Return the shares of the categories among replies, each in the column of its first word."""
    column = [words.index(texts[0]) for texts in attributes.values()]
    rows: list[int] = []
    texts: list[str] = []
    questions: list[ShownQuestion] = []
    for row, replies_to_prompt in enumerate(replies):
        question = prompts[row].shown
        for reply in replies_to_prompt:
            rows.append(row)
            texts.append(reply)
            if question:
                questions.append(question)
    counts = np.zeros((len(prompts), len(words)))
    unread = np.zeros((len(prompts), len(UNREAD)))
    for row, category in zip(rows, reader.read(texts, questions), strict=True):
        if category < 0:
            unread[row, list(UNREAD).index(category)] += 1
        else:
            counts[row, column[category]] += 1
    return shares(counts, replies, unread)


def open_reader(
    table: ReadoutTable,
    attributes: Mapping[str, tuple[str, ...]],
    allowed: Allowed,
    load: LoadOptions | None = None,
) -> Readout:
    """Return the readout that a topic names.

    A function or a model in it that the user did not name is refused. A judge has the device and
    the limits of the model that is audited, which `load` has.
    """
    if isinstance(table, ChoiceTable):
        return ChoiceReader(tuple(attributes.values()))
    if isinstance(table, RatingTable | ScoreTable):
        return ScoreReader(table, attributes)
    if not isinstance(table, TextTable):
        raise TypeError(f"no reader of {type(table).__name__}")
    if table.function is not None:
        function = allowed.function(table.function, where="readout.function")
        return FunctionReader(function, tuple(attributes), table.function)
    if table.model is None:
        return WordCountReader(attributes)
    allowed.check_model(
        table.model, here=on_this_machine(table.model), where="readout.model"
    )
    if table.rubric is not None:
        load = load or LoadOptions()
        return JudgeReader(table.model, table.rubric, attributes, load)
    return ClassifierReader(table.model, tuple(attributes), table.names)


class ModelReader(ABC):
    """Another model that reads whole replies; refusals and empty ones are not shown to it."""

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """Return the category of each reply."""
        texts = [spoken(reply) for reply in replies]
        answers = [without_opening(text) for text in texts]
        is_readable = [bool(answer) and not refuses(answer) for answer in answers]
        readable = list(compress(texts, is_readable))
        categories = iter(self.categories_of(readable) if readable else ())
        return [
            next(categories) if read else unread(text)
            for text, read in zip(texts, is_readable, strict=True)
        ]

    @abstractmethod
    def categories_of(self, texts: Sequence[str]) -> Iterable[int]:
        """Return the category of each text, of one or more, or OTHER."""


@dataclass(frozen=True)
class ClassifierReader(ModelReader):
    """A local text-classification model (a folder or a hub id).

    Its labels are the categories, or `names` says which they are. A label that is no category is
    other.
    """

    name: str
    categories: tuple[str, ...]
    names: Mapping[str, str]

    def categories_of(self, texts: Sequence[str]) -> list[int]:
        classify = self._classifier
        max_length = min(
            classify.tokenizer.model_max_length,
            classify.model.config.max_position_embeddings,
        )
        predictions = classify(
            list(texts), batch_size=_BATCH, truncation=True, max_length=max_length
        )
        return [self._category_of_label[str(p["label"])] for p in predictions]

    @cached_property
    def _classifier(self) -> Any:
        require("classifying replies", "torch", "transformers")
        import transformers

        from clinometer.models.local.load import choose_device

        offline = {} if hub_reachable() else {"local_files_only": True}
        with loading(self.name, self.name, instead=None):
            tokenizer = pretrained(transformers.AutoTokenizer, self.name)
            kind = transformers.AutoModelForSequenceClassification
            model = pretrained(kind, self.name, **offline)
        return transformers.TextClassificationPipeline(
            model=model, tokenizer=tokenizer, device=choose_device("auto")
        )

    @cached_property
    def _category_of_label(self) -> dict[str, int]:
        """Return the number of the category of each label, by `names` or by its own name."""
        labels = [*map(str, self._classifier.model.config.id2label.values())]
        self._check_names(labels)
        by_name = {name.casefold(): i for i, name in enumerate(self.categories)}
        category_of_label = {}
        for label in labels:
            if label in self.names:
                category = self.categories.index(self.names[label])
            else:
                category = by_name.get(label.casefold(), OTHER)
            category_of_label[label] = category
        for i, name in enumerate(self.categories):
            if i not in category_of_label.values():
                raise TopicError(
                    f"readout.names: no label of the classifier {self.name!r} "
                    f"({', '.join(labels)}) is the category {name!r}; write LABEL = {name!r}"
                )
        return category_of_label

    def _check_names(self, labels: Sequence[str]) -> None:
        """Refuse names of labels that the classifier has not."""
        for label in self.names:
            if label not in labels:
                raise TopicError(
                    f"readout.names.{label}: expected a label of the classifier {self.name!r} "
                    f"({', '.join(labels)})"
                )


@dataclass(eq=False)
class JudgeReader(ModelReader):
    """A model that is asked the rubric about each reply and answers as a choice.

    It is asked in every order of the options, so that no position is favoured, and the category
    with the highest mean probability counts; where the options hold hardly any, the reply is other.
    A reply is judged once, and a judge that failed is not asked again.
    """

    name: str
    rubric: str
    attributes: Mapping[str, tuple[str, ...]]

    load: LoadOptions = field(default_factory=LoadOptions)
    """The options of the model that is audited."""

    beside: Client | None = None
    """The client of that model, with which the judge stays within the same limits."""

    log: ReplyLog | None = None
    """What keeps the judgements."""

    _judged: dict[str, int] = field(default_factory=dict, init=False)
    """The category of each reply so far."""

    _failure: ModelError | None = field(default=None, init=False)
    """Why the judge cannot be asked."""

    def questions(self, reply: str) -> list[Prompt]:
        """Return what the judge is asked about a reply, in every order of the options."""
        names = list(self.attributes)
        quoted = OPTIONS.sub("(options)", reply)
        text = f"{self.rubric.replace('[reply]', quoted)} [options] Answer:"
        prompts = []
        for order in option_orders(len(names)):
            ordered = with_order(text, [names[y] for y in order])
            question = lay_out(ordered, self.attributes, "letters")
            prompts.append(Prompt(question.text, "", True, question))
        return prompts

    def categories_of(self, texts: Sequence[str]) -> list[int]:
        if self._failure is not None:
            raise self._failure
        new = [text for text in dict.fromkeys(texts) if not self._is_judged(text)]
        try:
            for start in range(0, len(new), _BATCH):
                self._judge(new[start : start + _BATCH])
        except ModelError as error:
            self._failure = error
            raise
        return [self._judged[text] for text in texts]

    def _is_judged(self, reply: str) -> bool:
        """Return whether a reply has its category, which the log may know."""
        if reply not in self._judged and self.log is not None:
            category = self.log.get(self._log_key(reply), 0)
            if type(category) is int and OTHER <= category < len(self.attributes):
                self._judged[reply] = category
        return reply in self._judged

    def _log_key(self, reply: str) -> str:
        return "\0".join((self.name, self.rubric, *self.attributes, reply))

    def _judge(self, replies: Sequence[str]) -> None:
        """Ask about replies, and keep their categories."""
        prompts: list[Prompt] = []
        for reply in replies:
            prompts += self.questions(reply)
        words: list[str] = []
        first_words: list[int] = []
        for words_of_category in self.attributes.values():
            first_words.append(len(words))
            words += words_of_category
        scores = self._scorer.score(prompts, tuple(words))
        orders = len(prompts) // len(replies)
        p = np.exp(scores.log_probs[:, first_words])
        mean_p = p.reshape(len(replies), orders, len(first_words)).mean(axis=1)
        covered = mean_p.sum(axis=1) >= _LEAST_COVERED
        best = np.where(covered, mean_p.argmax(axis=1), OTHER)
        for reply, category in zip(replies, best.tolist(), strict=True):
            self._judged[reply] = category
            if self.log is not None:
                self.log.put(self._log_key(reply), 0, category)

    @cached_property
    def _scorer(self) -> ReplyScorer:
        """Open the judge, inside its chat template if it has one."""
        query = ReadoutQuery("judge", ChoiceTable(kind="choice"), dict(self.attributes))
        load = self._load_options()
        try:
            scorer = open_model(self.name, load=load, beside=self.beside)
        except ModelError as error:
            if "no chat template" not in str(error):
                raise
            load = replace(load, chat=False)
            scorer = open_model(self.name, load=load, beside=self.beside)
        if self.log is not None:
            scorer.keep(self.log)
        return ReplyScorer(scorer, query, chat=load.chat)

    def _load_options(self) -> LoadOptions:
        """Return how the judge is opened: with the device and the limits of the model, and with
        what earlier attempts paid for judging."""
        known_price = price_of(ModelSpec.parse(self.name).target, None)
        server = replace(
            self.load.server,
            tokenizer=None,
            route=None,
            price=self.load.server.price if known_price is None else None,
        )
        used = self.load.begun.get("usage", {})
        used_by_judge = {
            name.removeprefix(JUDGED): count
            for name, count in used.items()
            if name.startswith(JUDGED)
        }
        return LoadOptions(
            chat=True,
            chat_request=QUESTION,
            device=self.load.device,
            server=server,
            begun={"usage": used_by_judge},
        )

    def _opened(self) -> ReplyScorer | None:
        """Return the judge, if it has been asked."""
        return self.__dict__.get("_scorer")

    def halt(self) -> None:
        """Ask nothing more."""
        if (scorer := self._opened()) is not None:
            scorer.halt()

    def usage(self) -> dict[str, int]:
        """Return what the judge has used so far."""
        scorer = self._opened()
        return {} if scorer is None else scorer.usage()

    def close(self) -> None:
        """Release the judge's connections, and the log."""
        if (scorer := self._opened()) is not None:
            scorer.close()
        if self.log is not None:
            self.log.close()
