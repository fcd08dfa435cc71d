"""Categories of whole replies by other models: a classifier, or a judge that is asked a rubric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clinometer.errors import ModelError, TopicError
from clinometer.extras import require
from clinometer.models.catalog.hub import hub_reachable
from clinometer.models.catalog.open import open_model
from clinometer.models.catalog.pretrained import loading, pretrained
from clinometer.models.generation.replies import ReadoutQuery, ReplyScorer
from clinometer.models.options import LoadOptions, WordOptions
from clinometer.readouts.layout import OPTIONS, lay_out, with_order
from clinometer.readouts.orders import option_orders
from clinometer.readouts.protocol import ShownQuestion
from clinometer.readouts.replies import OTHER, refuses, spoken, unread, without_opening
from clinometer.readouts.tables import ChoiceTable
from clinometer.topics import Prompt

#: Replies that a classifier reads together, and the probability that a judge's options need.
_BATCH = 32
_LEAST_COVERED = 0.05


class ClassifierReader:
    """A local text-classification model (a folder or a hub id); its labels are the categories, or
    `names` says which they are. A label that is no category is other."""

    kind, exact = "text", False

    def __init__(self, model: str, categories: Sequence[str], names: Mapping[str, str]) -> None:
        self.name, self.categories, self.names = model, tuple(categories), dict(names)
        self._loaded: tuple[Any, Any, list[int]] | None = None

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply; refusals and empty replies are not classified."""
        said = [spoken(reply) for reply in replies]
        found = [_not_a_text(text) for text in said]
        open_ = [i for i, code in enumerate(found) if code is None]
        read = iter(self._classify([said[i] for i in open_]))
        return [next(read) if code is None else code for code in found]

    def _classify(self, texts: Sequence[str]) -> Iterator[int]:
        if not texts:
            return
        import torch

        tokenizer, model, categories = self._opened()
        longest = min(tokenizer.model_max_length, model.config.max_position_embeddings)
        for start in range(0, len(texts), _BATCH):
            batch = tokenizer(
                list(texts[start : start + _BATCH]),
                padding=True,
                truncation=True,
                max_length=longest,
                return_tensors="pt",
            ).to(model.device)
            with torch.inference_mode():
                for label in model(**batch).logits.argmax(dim=-1).tolist():
                    yield categories[label]

    def _opened(self) -> tuple[Any, Any, list[int]]:
        """Tokenizer, model, and the category of each label."""
        if self._loaded is None:
            require("classifying replies", "torch", "transformers")
            import transformers

            from clinometer.models.local.load import choose_device

            offline = {} if hub_reachable() else {"local_files_only": True}
            with loading(self.name, self.name, instead=None):
                tokenizer = pretrained(transformers.AutoTokenizer, self.name)
                kind = transformers.AutoModelForSequenceClassification
                model = pretrained(kind, self.name, **offline)
            model = model.to(choose_device("auto")).eval()
            labels = [str(model.config.id2label[i]) for i in range(model.config.num_labels)]
            self._loaded = tokenizer, model, self._numbered(labels)
        return self._loaded

    def _numbered(self, labels: Sequence[str]) -> list[int]:
        own = {category.casefold(): i for i, category in enumerate(self.categories)}
        named = {label: self.categories.index(name) for label, name in self.names.items()}
        found = [named.get(label, own.get(label.casefold(), OTHER)) for label in labels]
        for label in self.names:
            if label not in labels:
                raise TopicError(
                    f"readout.names.{label}: expected a label of the classifier {self.name!r} "
                    f"({', '.join(labels)})"
                )
        missing = [c for i, c in enumerate(self.categories) if i not in found]
        if missing:
            raise TopicError(
                f"readout.names: no label of the classifier {self.name!r} ({', '.join(labels)}) is "
                f"the category {missing[0]!r}; write LABEL = {missing[0]!r}"
            )
        return found


class JudgeReader:
    """A model that is asked the rubric about each reply and answers as a choice.

    It is asked in every order of the options, so that no position is favoured, and the category
    with the highest mean probability counts; where the options hold hardly any, the reply is other.
    """

    kind, exact = "text", False

    def __init__(self, model: str, rubric: str, attributes: Mapping[str, tuple[str, ...]]) -> None:
        self.name, self.rubric, self.attributes = model, rubric, dict(attributes)
        self._scorer: ReplyScorer | None = None

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply; refusals and empty replies are not judged."""
        said = [spoken(reply) for reply in replies]
        found = [_not_a_text(text) for text in said]
        open_ = [i for i, code in enumerate(found) if code is None]
        judged = iter(self._judged([said[i] for i in open_]))
        return [next(judged) if code is None else code for code in found]

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

    def _judged(self, replies: Sequence[str]) -> list[int]:
        if not replies:
            return []
        scorer = self._opened()
        distinct = list(dict.fromkeys(replies))
        asked = [self.questions(reply) for reply in distinct]
        words = tuple(word for words in self.attributes.values() for word in words)
        scores = scorer.score([prompt for one in asked for prompt in one], words)
        first = np.cumsum([0, *(len(words) for words in self.attributes.values())])[:-1]
        shape = (len(distinct), len(asked[0]), len(first))
        p = np.exp(scores.log_probs[:, first]).reshape(shape).mean(axis=1)
        best = np.where(p.sum(axis=1) >= _LEAST_COVERED, p.argmax(axis=1), OTHER)
        number = dict(zip(distinct, best.tolist(), strict=True))
        return [number[reply] for reply in replies]

    def _opened(self) -> ReplyScorer:
        """The judge, inside its chat template if it has one."""
        if self._scorer is None:
            table = ChoiceTable(kind="choice")
            query = ReadoutQuery("judge", table, self.attributes)
            for chat in (True, False):
                load = LoadOptions(chat=chat).asking(tokens=table.length)
                try:
                    scorer = open_model(self.name, load=load, words=WordOptions())
                except ModelError as error:
                    if chat and "no chat template" in str(error):
                        continue
                    raise
                self._scorer = ReplyScorer(scorer, query, chat=chat)
                return self._scorer
            raise ModelError(f"judge {self.name!r}: cannot be opened; name another model")
        return self._scorer


def _not_a_text(said: str) -> int | None:
    """Why a reply need not be read: it is empty, or a refusal; None for one that is a text."""
    rest = without_opening(said)
    return None if rest and not refuses(rest) else unread(said)
