"""Models that write: a conversation in, answers out. A local causal model, or a server's.

Scorers say how probable given words are; a writer is asked for words of its own.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from clinometer.errors import ModelError, SettingsError
from clinometer.models.base import ModelInfo
from clinometer.models.options import LoadOptions
from clinometer.models.spec import ModelSpec

if TYPE_CHECKING:
    from torch import Tensor

    from clinometer.models.causal import CausalScorer

#: (role, what was said); roles are user and assistant in turn.
Turn = tuple[str, str]

_SERVER = "openai:"


class Writer(Protocol):
    """Whatever answers a conversation."""

    info: ModelInfo

    def write(
        self,
        turns: Sequence[Turn],
        *,
        n: int = 1,
        temperature: float = 1.0,
        seed: int = 0,
        length: int = 128,
    ) -> list[str]:
        """n answers of one line and at most `length` tokens; temperature 0 is the most probable.

        What a model writes below the first line with a word in it is left out.
        """


def open_writer(model: str, *, load: LoadOptions | None = None) -> Writer:
    """Open a model that writes: any causal model that can be opened, or `openai:URL#MODEL`."""
    load = load or LoadOptions()
    if model.startswith(_SERVER):
        from clinometer.models.server_writer import ServerWriter

        return ServerWriter(model, load)
    from clinometer.models.open import open_model

    scorer: Any = open_model(ModelSpec.parse(model), load=load)
    if scorer.info.kind != "causal":
        raise SettingsError(
            f"model {model!r}: expected one that writes (causal), found a {scorer.info.kind} one"
        )
    return CausalWriter(scorer)


def seed_for(seed: int, *names: str | int) -> int:
    """A seed for one question: the same in every attempt, whatever was asked before it.

    >>> seed_for(0, "a", 1) == seed_for(0, "a", 1) != seed_for(0, "a", 2)
    True
    """
    key = "\0".join(map(str, (seed, *names))).encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:4]) >> 1


class CausalWriter:
    """A local causal model, inside its chat template where it has one."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer, self.info = scorer, scorer.info
        self._read = _Read(scorer)

    def write(
        self,
        turns: Sequence[Turn],
        *,
        n: int = 1,
        temperature: float = 1.0,
        seed: int = 0,
        length: int = 128,
    ) -> list[str]:
        head = self.head(turns)
        limit = self.scorer.length_limit
        if limit is not None and len(head) + length > limit:
            raise ModelError(
                f"{self.info.name}: the request has {len(head)} tokens and leaves no room for an "
                f"answer of {length} (the model reads {limit})"
            )
        answers = continue_tokens(
            self.scorer,
            head,
            n=n,
            temperature=temperature,
            seed=seed,
            length=length,
            read=self._read,
        )
        return [first_line(answer) for answer in answers]

    def head(self, turns: Sequence[Turn]) -> list[int]:
        """Tokens of a conversation up to the answer."""
        tokenizer = self.scorer.tokenizer
        if getattr(tokenizer, "chat_template", None):
            text = tokenizer.apply_chat_template(
                [{"role": role, "content": said} for role, said in turns],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,  # templates without it ignore it
            )
            return list(tokenizer.encode(text, add_special_tokens=False))
        return list(self.scorer.head_tokens([transcript(turns)])[0])


def first_line(answer: str) -> str:
    """Models explain themselves below what was asked for; only the first line is an answer.

    >>> first_line("\\n\\n The nurse.\\nNote: …")
    'The nurse.'
    """
    return next((line.strip() for line in answer.splitlines() if line.strip()), "")


def transcript(turns: Sequence[Turn]) -> str:
    """A conversation as plain text, for models that know no template.

    >>> transcript([("user", "Hello."), ("assistant", "Yes?"), ("user", "Go.")])
    'User: Hello.\\n\\nAssistant: Yes?\\n\\nUser: Go.\\n\\nAssistant:'
    """
    return "\n\n".join(
        f"{role.capitalize()}: {said}" for role, said in (*turns, ("assistant", ""))
    )[:-1]


def continue_tokens(
    scorer: CausalScorer,
    head: Sequence[int],
    *,
    n: int,
    temperature: float,
    seed: int,
    length: int,
    read: _Read | None = None,
) -> list[str]:
    """n continuations to the end of a line, drawn token after token from the softmax itself: no
    cut, no penalty."""
    import torch

    tokenizer, device = scorer.tokenizer, scorer.device
    ends = set(tokenizer.all_special_ids)
    chance = torch.Generator(device="cpu").manual_seed(seed)
    rows: list[list[int]] = [[] for _ in range(n)]
    over = [False] * n
    with torch.inference_mode():
        logits, cache = (read or _Read(scorer)).after(list(head))
        if n > 1:
            cache.batch_repeat_interleave(n)
        logits = logits.expand(n, -1)
        for place in range(length):
            token = _drawn(logits.float().cpu(), temperature, chance)
            for row, drawn in enumerate(token[:, 0].tolist()):
                if over[row] or drawn in ends:
                    over[row] = True
                    continue
                rows[row].append(drawn)
                text = tokenizer.decode(rows[row]).lstrip()
                over[row] = "\n" in text
            if all(over) or place + 1 == length:
                break
            step = scorer.model(input_ids=token.to(device), past_key_values=cache, use_cache=True)
            cache, logits = step.past_key_values, step.logits[:, -1]
    return [str(tokenizer.decode(row)) for row in rows]


class _Read:
    """What a model has read: requests begin alike, and only what differs is read again."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer = scorer
        self.tokens: list[int] = []
        self.cache: Any = None

    def after(self, tokens: list[int]) -> tuple[Tensor, Any]:
        """Logits of the next token [1, V], and a cache that the caller may change."""
        import torch

        same = next(
            (i for i, (a, b) in enumerate(zip(self.tokens, tokens, strict=False)) if a != b),
            min(len(self.tokens), len(tokens)),
        )
        same = min(same, len(tokens) - 1)  # the last one has to be read for its logits
        cache = None
        if same > 0 and self.cache is not None and hasattr(self.cache, "crop"):
            cache = self.cache
            if same < len(self.tokens):
                cache.crop(same - len(self.tokens))  # negative: so many less
        else:
            same = 0
        ids = torch.tensor([tokens[same:]], device=self.scorer.device)
        step = self.scorer.model(input_ids=ids, past_key_values=cache, use_cache=True)
        self.tokens, self.cache = tokens, step.past_key_values
        return step.logits[:, -1], copy.deepcopy(self.cache)


def _drawn(logits: Tensor, temperature: float, chance: Any) -> Tensor:
    import torch

    if temperature == 0:
        return logits.argmax(dim=-1, keepdim=True)
    return torch.multinomial(torch.softmax(logits / temperature, dim=-1), 1, generator=chance)
