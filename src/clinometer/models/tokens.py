"""Tokenizers: how they write the words that may fill a slot, prompts around it, and conversations.

Tokenizer families treat the space before a word differently: byte-level BPE attaches it ("Ġhe"),
SentencePiece and Unigram mark it ("▁he"), WordPiece drops it and marks continuations instead
("##he"). Tokenising the bare word gets several of them wrong, so the word is written after an
anchor, and the anchor's tokens are removed.

Masked and permutation models mark the slot with their mask token, sequence-to-sequence models with
a mask or a sentinel. Prompts are tokenised many at a time and collected by length; everything after
that is arithmetic on arrays, because on a GPU a prompt may cost no more than a few microseconds of
Python.

In a chat template the sentence starts the assistant's turn. What the template writes before that
turn (system message, the user's request, the start of the turn) precedes every prompt; the scored
word then follows as it does without a template, so the two modes can be compared.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.errors import ContextError, ModelError, ModelNotFound, SettingsError
from clinometer.extras import require
from clinometer.models.catalog.pretrained import pretrained
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.catalog.weights import weights_source
from clinometer.models.options import QUESTION, LoadOptions
from clinometer.models.protocol import WordReport
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray
from clinometer.storage.untrusted import limited
from clinometer.topics import Prompt
from clinometer.topics.conversation import is_conversation, messages_of

Tokens = tuple[int, ...]

ROOT = 0
NO_CHILD = -1


@dataclass(frozen=True, eq=False)
class Trie:
    """A prefix tree over token sequences; node 0 is the empty sequence.

    prefix[n]    the tokens that lead to node n
    parent [N]   the node above each node (-1 for the root)
    children[n]  its children, in order of insertion
    depth order  nodes are numbered so that a parent comes before its children, level by level
    terminal[i]  the node at which sequence i ends
    """

    prefix: tuple[Tokens, ...]
    parent: IntArray
    children: tuple[tuple[int, ...], ...]
    terminal: tuple[int, ...]

    @classmethod
    def of(cls, sequences: Sequence[Tokens]) -> Trie:
        """Build the tree.

        >>> tree = Trie.of([(7,), (5, 6), (5, 8), (5, 6, 9)])
        >>> tree.prefix
        ((), (7,), (5,), (5, 6), (5, 8), (5, 6, 9))
        >>> tree.inner
        (0, 2, 3)
        >>> tree.terminal
        (1, 3, 4, 5)
        """
        prefixes: dict[Tokens, None] = {(): None}
        for depth in range(1, max((len(s) for s in sequences), default=0) + 1):
            prefixes.update((s[:depth], None) for s in sequences if len(s) >= depth)
        number = {p: i for i, p in enumerate(prefixes)}
        children: list[list[int]] = [[] for _ in number]
        parent = [-1] * len(number)
        for p, i in number.items():
            if p:
                parent[i] = number[p[:-1]]
                children[parent[i]].append(i)
        return cls(
            prefix=tuple(number),
            parent=np.array(parent, dtype=np.int64),
            children=tuple(map(tuple, children)),
            terminal=tuple(number[s] for s in sequences),
        )

    @property
    def inner(self) -> tuple[int, ...]:
        """Nodes that have children: those the model must be queried about."""
        return tuple(n for n, kids in enumerate(self.children) if kids)

    @cached_property
    def word_at(self) -> list[int]:
        """The nearest terminal on the way from each node to the root, itself included; ROOT without
        one."""
        ends, found = set(self.terminal), [ROOT] * len(self.prefix)
        for node in range(1, len(found)):
            found[node] = node if node in ends else found[self.parent[node]]
        return found

    @cached_property
    def longer(self) -> dict[int, list[int]]:
        """Below each terminal, and below the root, the terminals with no other between: the listed
        words that this one is a prefix of."""
        found: dict[int, list[int]] = {node: [] for node in (ROOT, *self.terminal)}
        for node in sorted(self.terminal):
            found[self.word_at[self.parent[node]]].append(node)
        return found

    @cached_property
    def token(self) -> IntArray:
        """The last token of each node [N]; of the root, which has none, 0."""
        return np.array([0, *(p[-1] for p in self.prefix[1:])], dtype=np.int64)

    def child_tokens(self, node: int) -> Tokens:
        """The tokens to read after a node."""
        return tuple(self.prefix[c][-1] for c in self.children[node])

    @cached_property
    def child_table(self) -> IntArray:
        """The children of each node [N, most children], padded with NO_CHILD."""
        table = np.full(
            (len(self.prefix), max(map(len, self.children))), NO_CHILD, dtype=np.int64
        )
        for node, row in enumerate(self.children):
            table[node, : len(row)] = row
        return table

    def wanted(self, nodes: IntArray) -> IntArray:
        """Tokens to read after each of these nodes [n, W], padded with the first of them."""
        kids = self.child_table[nodes]
        kids = kids[:, : max(1, int((kids != NO_CHILD).sum(axis=1).max(initial=0)))]
        return self.token[np.where(kids == NO_CHILD, kids[:, :1], kids)]

    @cached_property
    def depth_first(self) -> IntArray:
        """All nodes but the root [N - 1], so that subtrees are contiguous."""
        stack, order = list(reversed(self.children[ROOT])), []
        while stack:
            order.append(stack.pop())
            stack.extend(reversed(self.children[order[-1]]))
        return np.array(order, dtype=np.int64)

    @cached_property
    def top(self) -> IntArray:
        """The ancestor at depth 1 of each node [N], itself there."""
        top = np.arange(len(self.prefix))
        for node in np.flatnonzero(self.parent > ROOT):
            top[node] = top[self.parent[node]]
        return top

    def below(self, nodes: BoolArray) -> BoolArray:
        """The children of some nodes, by prompt, [N, P] -> [N, P]."""
        found = nodes[self.parent]
        found[ROOT] = False
        return found


#: Anchors for a word after a space, and for text that continues a word.
_LETTERS = ("that", "x", "1")
#: Anchors for a word without a space: characters that no tokenizer merges into the word.
_SIGNS = ('"', "(", "。", "1", "x")
#: Texts tokenised in one call: what the library returns for many leaves the processor's caches
#: before it is read, which then takes six times as long.
_AT_ONCE = 512
#: Tokenizers of some versions refuse two threads at once.
_ENCODING = threading.Lock()


def word_tokens(
    tokenizer: Any, word: str, *, space: bool, opening: bool = False
) -> Tokens:
    """Token ids of a word as it stands in a sentence.

    With its leading space if `space`; directly after another character if not (an opening quote,
    Chinese); as the text's first word if `opening`.
    """
    if opening:
        return tuple(_encode(tokenizer, word))
    if space:
        return _after(tokenizer, " " + word, _LETTERS, alone=word)
    return _after(tokenizer, word, _SIGNS, alone=word)


def continuations(tokenizer: Any, texts: Sequence[str]) -> list[Tokens]:
    """Token ids of texts that continue a word (" was late", ".", "'s"); all in one call where the
    first anchor works."""
    head = _encode(tokenizer, _LETTERS[0])
    wholes = encode_all(
        tokenizer, [_LETTERS[0] + text for text in texts], special=False
    )
    fits = tokenizer.unk_token_id not in head
    return [
        tuple(whole[len(head) :])
        if fits and len(whole) > len(head) and whole[: len(head)] == head
        else _after(tokenizer, text, _LETTERS, alone=text)
        for whole, text in zip(wholes, texts, strict=True)
    ]


def _after(tokenizer: Any, text: str, anchors: Sequence[str], *, alone: str) -> Tokens:
    for anchor in anchors:
        head = _encode(tokenizer, anchor)
        if tokenizer.unk_token_id in head:
            continue  # an unknown sign can swallow an unknown character of the word
        whole = _encode(tokenizer, anchor + text)
        if whole[: len(head)] == head and len(whole) > len(head):
            return tuple(whole[len(head) :])
    # No anchor keeps its own tokens before this text: tokenise the text alone, without the space
    # marker that some tokenizers put before every text.
    ids = _encode(tokenizer, alone)
    if (
        not text[:1].isspace()
        and len(ids) > 1
        and tokenizer.decode(ids[:1]).strip() == ""
    ):
        ids = ids[1:]
    return tuple(ids)


def encode_all(
    tokenizer: Any, texts: Sequence[str], *, special: bool
) -> list[list[int]]:
    """Token ids of many texts.

    Fast tokenizers are called below the library's wrapper, which costs several times the
    tokenising itself for short texts.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return [
            list(t)
            for t in tokenizer(list(texts), add_special_tokens=special)["input_ids"]
        ]
    encode = getattr(backend, "encode_batch_fast", backend.encode_batch)
    slices = (list(texts[k : k + _AT_ONCE]) for k in range(0, len(texts), _AT_ONCE))
    with _ENCODING:
        backend.no_truncation()
        backend.no_padding()
        return [
            e.ids for some in slices for e in encode(some, add_special_tokens=special)
        ]


def in_opening(opening: str, text: str) -> str:
    """A text after what the chat template opens with, or as the user's message inside it.

    >>> in_opening("User: Hi. Bot: ", "So"), in_opening("User: [question] Bot: ", "Why?")
    ('User: Hi. Bot: So', 'User: Why? Bot: ')
    """
    return opening.replace(QUESTION, text) if QUESTION in opening else opening + text


def head_tokens(
    tokenizer: Any,
    texts: Sequence[str],
    *,
    chat: str | None = None,
    needs_bos: bool = False,
) -> list[list[int]]:
    """Tokens that a causal model reads before the slot: with its BOS token, without an EOS token.

    `chat` is what the chat template writes before the assistant's turn, BOS token included; the
    text then starts that turn. Where it has a slot for a question, the text is the user's message
    instead, and the turn begins after it. Messages are written by the tokenizer's own template,
    or as a plain transcript where it has none.
    """
    if texts and is_conversation(texts[0]):
        in_turns = [in_template(tokenizer, messages_of(text)) for text in texts]
        if in_turns[0] is not None:
            return encode_all(tokenizer, list(map(str, in_turns)), special=False)
        if not hasattr(tokenizer, "chat_template"):
            raise SettingsError(
                "messages: the chat template of a server is not known here; add --replies 5, which "
                "samples replies instead of reading probabilities"
            )
        texts = [transcript(messages_of(text)) for text in texts]
    elif chat is not None:
        written = [in_opening(chat, text) for text in texts]
        return encode_all(tokenizer, written, special=False)
    bos = tokenizer.bos_token_id
    closing = {tokenizer.eos_token_id, tokenizer.sep_token_id} - {None, bos}
    found = iter(encode_all(tokenizer, [t for t in texts if t], special=True))
    heads = []
    for text in texts:
        ids = next(found) if text else []
        while ids and ids[-1] in closing:
            ids.pop()
        if bos is not None and (not ids or (needs_bos and ids[0] != bos)):
            ids.insert(0, bos)
        heads.append(ids)
    return heads


def _encode(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


class WordList:
    """The words of a topic under one tokenizer: which can be scored, and their token sequences."""

    def __init__(
        self,
        tokenizer: Any,
        words: Sequence[str],
        *,
        space: bool,
        opening: bool = False,
        single_token: bool = False,
    ) -> None:
        #: how much each scored word counts for each category [columns, Y], where that is known
        self.counts: FloatArray | None = None
        tokens = [
            word_tokens(tokenizer, w, space=space, opening=opening) for w in words
        ]
        unknown = tokenizer.unk_token_id
        first_with: dict[Tokens, str] = {}
        unwritable, restricted = [], []
        same: dict[str, str] = {}
        asked: list[int] = []
        for i, (word, ids) in enumerate(zip(words, tokens, strict=True)):
            if not ids or (unknown is not None and unknown in ids):
                unwritable.append(word)
            elif ids in first_with:
                same[word] = first_with[ids]
            elif single_token and len(ids) > 1:
                restricted.append(word)
            else:
                first_with[ids] = word
                asked.append(i)
        #: columns of `words` that are scored, and the token sequence of each
        self.columns = tuple(asked)
        self.sequences = tuple(tokens[i] for i in asked)
        trie = Trie.of(self.sequences)
        word_at = {n: words[c] for n, c in zip(trie.terminal, asked, strict=True)}
        longer = {
            word: tuple(word_at[n] for n in trie.longer[at])
            for at, word in word_at.items()
        }
        self.report = WordReport(
            tokens={
                w: tuple(tokenizer.convert_ids_to_tokens(list(t)))
                for w, t in zip(words, tokens, strict=True)
            },
            unwritable=tuple(unwritable),
            same_tokens=same,
            restricted=tuple(restricted),
            prefixes={word: others for word, others in longer.items() if others},
        )

    def counted(self, counts: FloatArray | None) -> WordList:
        """The same words, with what each of all of them counts for [V, Y]."""
        if counts is None:
            return self
        known = copy(self)
        known.counts = counts[list(self.columns)]
        return known


# --- Prompts as arrays of tokens around one marked slot -------------------------------------------


#: Prompts tokenised at a time: enough for all cores, few enough that a GPU starts soon.
_SLICE = 4_096


@dataclass(frozen=True)
class Marker:
    """The token that stands for the slot, and the special tokens that close a text after it."""

    token: str
    id: int
    closing: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Any, token: str) -> Marker:
        number = int(tokenizer.convert_tokens_to_ids(token))
        alone = encode_all(tokenizer, [token], special=True)[0]
        if number not in alone:
            raise ModelError(
                f"the tokenizer does not recognise its own token {token!r}: use the tokenizer that "
                "the model was trained with"
            )
        return cls(token, number, tuple(alone[alone.index(number) + 1 :]))


@dataclass(frozen=True)
class SlotGroup:
    """Prompts of one length: tokens [n, L] with one marker each, at positions [n].

    `members` [n] are their indices in the original list.
    """

    tokens: IntArray
    positions: IntArray
    members: IntArray

    def __len__(self) -> int:
        return len(self.members)

    def take(self, rows: slice) -> SlotGroup:
        return SlotGroup(self.tokens[rows], self.positions[rows], self.members[rows])

    def joined(self, other: SlotGroup) -> SlotGroup:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return SlotGroup(*map(np.concatenate, pairs))

    def filled(self, rows: IntArray, *, places: int, known: IntArray) -> IntArray:
        """Token rows with the marker `places` times over, the first of them
        replaced by the tokens `known` [n, depth].

        >>> group = SlotGroup(np.array([[1, 9, 2]]), np.array([1]), np.array([0]))
        >>> group.filled(np.array([0]), places=3, known=np.array([[5]])).tolist()
        [[1, 5, 9, 9, 2]]
        """
        tokens, at = self.tokens[rows], self.positions[rows][:, None]
        if places > 1:
            columns = np.arange(tokens.shape[1] + places - 1)
            source = np.where(
                columns < at, columns, np.maximum(columns - (places - 1), at)
            )
            tokens = np.take_along_axis(tokens, source, axis=1)
        if known.shape[1]:
            np.put_along_axis(tokens, at + np.arange(known.shape[1]), known, axis=1)
        return tokens


def slot_groups(
    tokenizer: Any, prompts: Sequence[Prompt], marker: Marker, *, size: int
) -> Iterator[SlotGroup]:
    """Prompts with the marker in the slot, collected by length.

    A group is yielded as soon as it has `size` rows, the others at the end: a model then gets full
    batches however much the lengths vary.
    """
    waiting: dict[int, SlotGroup] = {}
    for start in range(0, len(prompts), _SLICE):
        ids = _around_marker(tokenizer, prompts[start : start + _SLICE], marker)
        lengths = np.fromiter(map(len, ids), dtype=np.intp, count=len(ids))
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            tokens = np.array([ids[i] for i in rows.tolist()], dtype=np.int64)
            marks = tokens == marker.id
            found = marks.sum(axis=1)
            if (found != 1).any():
                bad = int(np.flatnonzero(found != 1)[0])
                raise ContextError(
                    f"prompt {prompts[rows[bad] + start].fill('[Y]')!r}: expected the slot's "
                    f"{marker.token} once among its tokens, found it {found[bad]} times"
                )
            group = SlotGroup(tokens, marks.argmax(axis=1), rows + start)
            if length in waiting:
                group = waiting.pop(length).joined(group)
            whole = len(group) - len(group) % size
            yield from (group.take(slice(k, k + size)) for k in range(0, whole, size))
            if whole < len(group):
                waiting[length] = group.take(slice(whole, None))
        if start == 0 and set(waiting) == set(lengths.tolist()):
            # None is full yet: yield the most frequent length at once, so that work can start.
            yield waiting.pop(int(np.bincount(lengths).argmax()))
    for length in sorted(waiting):
        yield waiting[length]


def _around_marker(
    tokenizer: Any, prompts: Sequence[Prompt], marker: Marker
) -> list[list[int]]:
    """Token ids of each prompt.

    The marker replaces the word and its space (RoBERTa's mask swallows that space by itself), so it
    follows the text directly. The text after the slot continues a word: some tokenizers treat what
    follows a special token as the start of a text and would write ▁. instead of a full stop.
    """
    ids = encode_all(
        tokenizer, [f"{p.before}{marker.token}{p.after}" for p in prompts], special=True
    )
    glued = [i for i, p in enumerate(prompts) if p.after and not p.after[0].isspace()]
    if glued:
        texts = sorted({prompts[i].after for i in glued})
        tails = dict(zip(texts, continuations(tokenizer, texts), strict=True))
        for i in glued:
            head = ids[i][: ids[i].index(marker.id) + 1] if marker.id in ids[i] else []
            ids[i] = [*head, *tails[prompts[i].after], *marker.closing]
    return ids


# --- Tokenizers on this machine -------------------------------------------------------------------


#: Files of which a folder with a tokenizer has at least one.
_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "tokenizer.model"),
    *("spiece.model", "sentencepiece.bpe.model", "vocab.txt", "vocab.json"),
)
#: What patterns stumble over that backtrack: runs of one sign, and an end that does not fit.
_PROBE = "The nurse said that he " + "a" * 60 + " " * 60 + "1" * 60 + "." * 60 + "\n!"


def has_tokenizer(source: str) -> bool:
    """Whether a folder has a tokenizer; anything that is not a folder is assumed to have one."""
    folder = Path(source)
    return not folder.is_dir() or any((folder / name).is_file() for name in _FILES)


def load_tokenizer(name: str, source: str, **options: Any) -> Any:
    """The tokenizer of a folder or a hub id. Without one transformers would make one up that knows
    no word, also from settings (tokenizer_config.json) without a vocabulary; and a pattern of one
    may take for ever."""
    from transformers import AutoTokenizer

    tokenizer = (
        pretrained(AutoTokenizer, source, **options) if has_tokenizer(source) else None
    )
    if tokenizer is None or len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise ModelNotFound(
            f"model {name!r}: no tokenizer in its folder; expected tokenizer.json, vocab.txt, "
            "vocab.json with merges.txt, tokenizer.model or spiece.model: copy what the weights "
            "came with, or write it with the tokenizer's save_pretrained"
        )
    try:
        limited(lambda: str(len(tokenizer.encode(_PROBE))))
    except ValueError as error:
        raise ModelError(
            f"model {name!r}: its tokenizer cannot split a short text: {error}; use another"
        ) from error
    return tokenizer


def local_tokenizer(name: str, load: LoadOptions) -> Any:
    """The tokenizer of a folder, a .gguf file, an embedded or packaged model, or a hub id."""
    require("a local tokenizer", "transformers")
    source = weights_source(ModelSpec.parse(name))
    if source is None:
        raise ModelError(
            f"tokenizer {name!r}: expected a folder, a .gguf file or a hub id"
        )
    code = load.allowed.remote_code
    try:
        return load_tokenizer(
            name, source, trust_remote_code=code, revision=load.revision
        )
    except (OSError, ValueError) as error:
        text = " ".join(str(error).split())
        raise ModelError(
            f"tokenizer {name!r} cannot be loaded: {text[:160]}"
        ) from error


# --- Conversations --------------------------------------------------------------------------------


def in_template(tokenizer: Any, messages: list[dict[str, str]]) -> str | None:
    """The messages in the tokenizer's template, up to the assistant's turn; None if it has none."""
    if not getattr(tokenizer, "chat_template", None):
        return None

    def written() -> str:
        # Switches off thinking in templates that offer it; others ignore the argument.
        return str(
            tokenizer.apply_chat_template(
                messages,
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,
            )
        )

    try:
        return limited(written)
    except ValueError as error:
        raise ModelError(
            f"model {tokenizer.name_or_path!r}: its chat template fails: {error}; score it without "
            "--chat"
        ) from error


def transcript(messages: list[dict[str, str]]) -> str:
    """A conversation as plain text, for models without a chat template.

    >>> transcript([{"role": "user", "content": "Hello."}])
    'User: Hello.\\n\\nAssistant:'
    """
    said = [f"{one['role'].capitalize()}: {one['content']}" for one in messages]
    return "\n\n".join([*said, "Assistant:"])
