"""Questions instead of sentences: the answers are scored, or sampled replies are read.

A reply's first words are its answer, so the exact probability of an option is that of its label or
text where the reply begins: after the question for a base model, at the start of the assistant's
turn for a chat model. Everything else the model could write there is `other`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np

from clinometer.errors import ModelError, SettingsError, TopicError
from clinometer.extras import require
from clinometer.models.catalog.pretrained import hub_reachable, loading, pretrained
from clinometer.models.catalog.spec import on_this_machine
from clinometer.models.open import open_model
from clinometer.models.options import QUESTION, LoadOptions
from clinometer.models.protocol import ModelInfo, Scorer, WordReport, WordScores
from clinometer.models.sampled import shares
from clinometer.readouts.readers import (
    OPTIONS,
    OTHER,
    UNREAD,
    ChoiceReader,
    FunctionReader,
    Readout,
    ScoreReader,
    ShownQuestion,
    WordCountReader,
    lay_out,
    option_orders,
    refuses,
    spoken,
    unread,
    with_order,
    without_opening,
)
from clinometer.readouts.tables import (
    ChoiceTable,
    RatingTable,
    ReadoutTable,
    ScoreTable,
    TextTable,
)
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.storage.resumable import ReplyLog
from clinometer.storage.untrusted import Allowed
from clinometer.topics import Prompt, Topic

#: Kinds of models that fill gaps in a text and cannot reply to one.
_FILL_GAPS = ("masked", "permutation")


@dataclass(frozen=True)
class ReadoutQuery:
    """What the answers of a topic are: its readout and its categories with their words."""

    topic: str
    table: ReadoutTable
    attributes: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, topic: Topic) -> ReadoutQuery | None:
        """Of a topic of questions; None where words are scored at a slot."""
        if topic.readout is None:
            return None
        return cls(topic.name, topic.readout, dict(topic.attributes))

    def check(self, load: LoadOptions) -> None:
        """Refuse settings under which the topic cannot be asked, before a model is opened."""
        if not self.table.exact and load.sampled is None:
            raise SettingsError(
                f"topic {self.topic!r}: its readout {self.table.kind!r} reads whole replies; add "
                "--replies 20, replies per question"
            )
        if load.sampled is not None:
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
        self.scorer, self.client, self.query, self.chat = (
            scorer,
            scorer.client,
            query,
            chat,
        )
        self._reader, self._turn = reader, threading.Lock()

    @property
    def info(self) -> ModelInfo:  # type: ignore[override]  # it changes with the first replies
        return self.scorer.info

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """Labels are checked when they are scored; texts as any other words."""
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

    def close(self) -> None:
        self.scorer.close()

    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None = None,
    ) -> WordScores:
        """Scores with a column for each word of the topic, in any order of the options."""
        if self._reader is not None and self.info.kind == "sampled":
            replies = self.scorer.generate(prompts)
            with self._turn:  # a reader may be a model
                return read_replies(
                    self._reader, self.query.attributes, prompts, words, replies
                )
        alike: dict[tuple[str, ...], list[int]] = {}
        for i, prompt in enumerate(prompts):
            answers = () if prompt.shown is None else prompt.shown.answers
            alike.setdefault(tuple(sorted({*answers} - {""})), []).append(i)
        parts = [
            self._exact([prompts[i] for i in at], texts) for texts, at in alike.items()
        ]
        return WordScores.joined(parts).take(
            np.argsort(np.concatenate(list(alike.values())))
        )

    def _exact(self, prompts: Sequence[Prompt], texts: tuple[str, ...]) -> WordScores:
        """Prompts with the same answers, in any order."""
        if self.chat:  # the reply opens the assistant's turn
            prompts = [replace(prompt, space=False) for prompt in prompts]
        found = self.scorer.score(prompts, texts)
        report = self.scorer.word_report(texts, space=prompts[0].space)
        self._check(report)
        scale = np.ones(len(texts))
        if self.query.table.normalisation == "per-token":
            scale = 1.0 / np.array([len(report.tokens[text]) for text in texts])
        number = {text: i for i, text in enumerate(texts)}
        answers = [() if p.shown is None else p.shown.answers for p in prompts]
        columns = np.array([[number.get(text, -1) for text in row] for row in answers])
        upper = found.log_upper
        return replace(
            found,
            log_probs=_placed(found.log_probs * scale, columns),
            log_upper=None if upper is None else _placed(upper * scale, columns),
        )

    def _check(self, report: WordReport) -> None:
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


def read_replies(
    reader: Readout,
    attributes: Mapping[str, tuple[str, ...]],
    prompts: Sequence[Prompt],
    words: Sequence[str],
    replies: Sequence[tuple[str, ...]],
) -> WordScores:
    """Shares of the categories among the replies, each in the column of its first word."""
    first = [words.index(texts[0]) for texts in attributes.values()]
    row = [i for i, texts in enumerate(replies) for _ in texts]
    shown = [question for i in row if (question := prompts[i].shown)]
    categories = reader.read([text for texts in replies for text in texts], shown)
    counts = np.zeros((len(prompts), len(words)))
    unread = np.zeros((len(prompts), len(UNREAD)))
    for i, category in zip(row, categories, strict=True):
        if category < 0:
            unread[i, list(UNREAD).index(category)] += 1
        else:
            counts[i, first[category]] += 1
    return shares(counts, replies, unread)


def _placed(values: FloatArray, columns: IntArray) -> FloatArray:
    """Scores of the answers [P, A] in the columns of the topic's words [P, V]; -1: none."""
    padded = np.concatenate([values, np.full((len(values), 1), -np.inf)], axis=1)
    return np.take_along_axis(padded, columns, axis=1)


def open_reader(
    table: ReadoutTable, attributes: Mapping[str, tuple[str, ...]], allowed: Allowed
) -> Readout:
    """The readout that a topic names; a function or a model in it that the user did not name is
    refused."""
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
        return JudgeReader(table.model, table.rubric, attributes)
    return ClassifierReader(table.model, tuple(attributes), table.names)


#: Replies that a classifier reads together, and the probability that a judge's options need.
_BATCH = 32
_LEAST_COVERED = 0.05


class ModelReader(ABC):
    """Another model that reads whole replies; refusals and empty ones are not shown to it."""

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply."""
        texts = [spoken(reply) for reply in replies]
        opened = [without_opening(text) for text in texts]
        is_text = [bool(rest) and not refuses(rest) for rest in opened]
        readable = list(compress(texts, is_text))
        categories = iter(self.categories_of(readable) if readable else ())
        return [
            next(categories) if read else unread(text)
            for text, read in zip(texts, is_text, strict=True)
        ]

    @abstractmethod
    def categories_of(self, texts: Sequence[str]) -> Iterable[int]:
        """The category of each text, of one or more, or OTHER."""


@dataclass(frozen=True)
class ClassifierReader(ModelReader):
    """A local text-classification model (a folder or a hub id); its labels are the categories, or
    `names` says which they are. A label that is no category is other."""

    name: str
    categories: tuple[str, ...]
    names: Mapping[str, str]

    def categories_of(self, texts: Sequence[str]) -> list[int]:
        classify, category = self._opened
        longest = min(
            classify.tokenizer.model_max_length,
            classify.model.config.max_position_embeddings,
        )
        found = classify(
            list(texts), batch_size=_BATCH, truncation=True, max_length=longest
        )
        return [category[str(one["label"])] for one in found]

    @cached_property
    def _opened(self) -> tuple[Any, dict[str, int]]:
        """The classifier, and the category of each label."""
        require("classifying replies", "torch", "transformers")
        import transformers

        from clinometer.models.local.load import choose_device

        offline = {} if hub_reachable() else {"local_files_only": True}
        with loading(self.name, self.name, instead=None):
            tokenizer = pretrained(transformers.AutoTokenizer, self.name)
            kind = transformers.AutoModelForSequenceClassification
            model = pretrained(kind, self.name, **offline)
        classify = transformers.TextClassificationPipeline(
            model=model, tokenizer=tokenizer, device=choose_device("auto")
        )
        return classify, self._numbered([*map(str, model.config.id2label.values())])

    def _numbered(self, labels: Sequence[str]) -> dict[str, int]:
        own = {category.casefold(): i for i, category in enumerate(self.categories)}
        named = {
            label: self.categories.index(name) for label, name in self.names.items()
        }
        found = {
            label: named.get(label, own.get(label.casefold(), OTHER))
            for label in labels
        }
        for label in self.names:
            if label not in labels:
                raise TopicError(
                    f"readout.names.{label}: expected a label of the classifier {self.name!r} "
                    f"({', '.join(labels)})"
                )
        missing = [c for i, c in enumerate(self.categories) if i not in found.values()]
        if missing:
            raise TopicError(
                f"readout.names: no label of the classifier {self.name!r} ({', '.join(labels)}) is "
                f"the category {missing[0]!r}; write LABEL = {missing[0]!r}"
            )
        return found


@dataclass(frozen=True)
class JudgeReader(ModelReader):
    """A model that is asked the rubric about each reply and answers as a choice.

    It is asked in every order of the options, so that no position is favoured, and the category
    with the highest mean probability counts; where the options hold hardly any, the reply is other.
    """

    name: str
    rubric: str
    attributes: Mapping[str, tuple[str, ...]]

    def questions(self, reply: str) -> list[Prompt]:
        """What the judge is asked about a reply, in every order of the options."""
        names = list(self.attributes)
        about = OPTIONS.sub("(options)", reply)
        prompts = []
        for order in option_orders(len(names)):
            text = f"{self.rubric.replace('[reply]', about)} [options] Answer:"
            ordered = with_order(text, [names[y] for y in order])
            laid = lay_out(ordered, self.attributes, "letters")
            prompts.append(Prompt(laid.text, "", True, laid))
        return prompts

    def categories_of(self, texts: Sequence[str]) -> list[int]:
        distinct = list(dict.fromkeys(texts))
        asked = [self.questions(reply) for reply in distinct]
        words = tuple(word for words in self.attributes.values() for word in words)
        scores = self._opened.score([prompt for one in asked for prompt in one], words)
        first = np.cumsum([0, *(len(words) for words in self.attributes.values())])[:-1]
        shape = (len(distinct), len(asked[0]), len(first))
        p = np.exp(scores.log_probs[:, first]).reshape(shape).mean(axis=1)
        best = np.where(p.sum(axis=1) >= _LEAST_COVERED, p.argmax(axis=1), OTHER)
        number = dict(zip(distinct, best.tolist(), strict=True))
        return [number[text] for text in texts]

    @cached_property
    def _opened(self) -> ReplyScorer:
        """The judge, inside its chat template if it has one."""
        query = ReadoutQuery("judge", ChoiceTable(kind="choice"), dict(self.attributes))
        load = LoadOptions(chat=True, chat_request=QUESTION)
        try:
            scorer = open_model(self.name, load=load)
        except ModelError as error:
            if "no chat template" not in str(error):
                raise
            load = replace(load, chat=False)
            scorer = open_model(self.name, load=load)
        return ReplyScorer(scorer, query, chat=load.chat)
