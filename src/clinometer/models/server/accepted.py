"""What a server accepts, learnt from its refusals.

Providers take the same request with different parameters: one wants max_completion_tokens, another
no seed, a third temperature or top_p but not both. Lists of who takes what are out of date when
they are written, and a refusal names the parameter. So a request is sent with all that matters;
what is refused is renamed, changed or left out, one refusal at a time, and remembered with the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from clinometer.errors import SettingsError
from clinometer.models.server.client import Client, RequestRefused

T = TypeVar("T")

#: The model's own distribution only: vLLM takes any setting missing here from the model's
#: generation_config.json.
PLAIN = {"top_p": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "stream": False}
NO_CUTS = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}

#: What may be left out, what matters least first. A temperature may be left out if it is 1, which
#: is every provider's default.
_SPARE = (*NO_CUTS, "presence_penalty", "frequency_penalty", "stream", "top_p", "seed")
#: Left out together before a server has accepted anything, if its refusal names nothing.
_UNNAMED = (tuple(NO_CUTS), ("presence_penalty", "frequency_penalty", "top_p"), ("seed",))
#: What a request is about; never left out, and no name to look for in a sentence.
_CONTENT = ("model", "messages", "prompt", "system")
#: Statuses of a request that another form of it may pass.
_ADAPTABLE = (400, 403, 422)

_LENGTHS = ("max_tokens", "max_completion_tokens")
_SEVERAL = re.compile(r"extra_forbidden|unrecognized|unknown name|unexpected keyword", re.I)
_LEAST = re.compile(
    r"(?:>=|at least|minimum(?: value)? (?:is|of)|greater than or equal to)\D{0,3}(\d+)", re.I
)
_MOST = re.compile(
    r"(?:<=|at most|maximum(?: value)? (?:is|of)|less than or equal to)\D{0,3}(\d+)", re.I
)
_SYSTEM = re.compile(r"system.{0,20}role|role.{0,40}system", re.I)
FILTERED = re.compile(r"content_?filter|content management policy|content_policy", re.I)


class Accepted:
    """The parameters of one server's requests, as far as its refusals show."""

    def __init__(self, client: Client, earlier: Mapping[str, Any] | None = None) -> None:
        self.client = client
        known = earlier or {}
        provider = client.address.provider
        self.renamed: dict[str, str] = dict(known.get("renamed", {}))
        if provider is not None:
            self.renamed = {**provider.renamed, **self.renamed}
        self.left_out: list[str] = list(known.get("left_out", ()))
        self.least: dict[str, int] = dict(known.get("least", {}))
        self.most: dict[str, int] = dict(known.get("most", {}))
        self.system = bool(known.get("system", True))
        self.refusals: list[dict[str, Any]] = list(known.get("refusals", ()))
        self.sent: dict[str, Any] = dict(known.get("sent", {}))
        #: whether anything was accepted: then an unnamed refusal is about the content
        self.any = bool(self.sent)

    def record(self) -> dict[str, Any]:
        """For run.json: what is sent besides the text, and what was refused."""
        seed = self.renamed.get("seed", "seed")
        found = {
            "address": self.client.address.base,
            "sent": {**self.sent, **({seed: "one a request"} if seed in self.sent else {})},
            "refusals": self.refusals,
            "renamed": self.renamed,
            "left_out": self.left_out,
            "least": self.least,
            "most": self.most,
            "system": self.system,
        }
        return {k: v for k, v in found.items() if k != "system" or not v}

    async def post(self, url: str, body: Mapping[str, Any], read: Callable[[Any], T]) -> T:
        """Send, in the form that the server takes."""
        while True:
            sent = self.fit(body)
            try:
                found = await self.client.post(url, sent, read)
            except RequestRefused as error:
                if self.fit(body) != sent:  # another request has learnt it meanwhile
                    continue
                if error.status not in _ADAPTABLE or not self.learn(sent, error):
                    raise
            else:
                self.sent = {k: v for k, v in sent.items() if k not in _CONTENT}
                self.any = True
                return found

    def fit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The request as the server takes it."""
        found: dict[str, Any] = {}
        for name, value in body.items():
            if name in self.left_out:
                continue
            if name in self.least:
                value = max(value, self.least[name])
            if name in self.most:
                value = min(value, self.most[name])
            if name == "messages" and not self.system:
                value = without_system(value)
            found[self.renamed.get(name, name)] = value
        return found

    def learn(self, sent: Mapping[str, Any], error: RequestRefused) -> bool:
        """Whether there is another form to try; if so it is remembered."""
        said = error.said
        back = {new: old for old, new in self.renamed.items()}
        named = [back.get(name, name) for name in sent if _names(said, name)]
        if "logprobs" in sent and ("logprobs" in named or "top_logprobs" in named):
            most = _MOST.search(said)
            if most and "top_logprobs" in named and int(most[1]) < sent["top_logprobs"]:
                self._note(error, "top_logprobs", most=int(most[1]))
                self.most["top_logprobs"] = int(most[1])
                return True
            self._note(error, "logprobs")
            return False
        if error.status == 403:
            return False
        spare = [name for name in _SPARE if name in named and name in self._wanted(sent)]
        for name in spare if _SEVERAL.search(said) else spare[:1]:
            self._leave_out(error, name)
        if spare:
            return True
        if any(name in _LENGTHS for name in named):
            return self._learn_length(sent, error)
        if "temperature" in named:
            if sent["temperature"] != 1.0:
                raise SettingsError(
                    f"{self.client.place}: takes no --temperature {sent['temperature']:g}, only "
                    "the model's default; leave out --temperature"
                )
            self._leave_out(error, "temperature")
            return True
        if "reasoning_effort" in named:
            raise SettingsError(
                f"{self.client.place}: takes no --effort {sent['reasoning_effort']} for this "
                f"model; {error}"
            )
        if "n" in named:
            self._note(error, "n")
            return False
        if "messages" in sent and self.system and _SYSTEM.search(said):
            self._note(error, "system", instead="the user's message")
            self.system = False
            return True
        if self.any or FILTERED.search(said):
            return False
        rest = [name for some in _UNNAMED for name in some if name in self._wanted(sent)][:1]
        together = next((some for some in _UNNAMED if rest and rest[0] in some), ())
        for name in together:
            if name in self._wanted(sent):
                self._leave_out(error, name, named=False)
        return bool(rest)

    def _wanted(self, sent: Mapping[str, Any]) -> set[str]:
        back = {new: old for old, new in self.renamed.items()}
        return {back.get(name, name) for name in sent}

    def _learn_length(self, sent: Mapping[str, Any], error: RequestRefused) -> bool:
        name = next(name for name in _LENGTHS if name in sent)
        other = next(other for other in _LENGTHS if other != name)
        least = _LEAST.search(error.said)
        if other in error.said and "max_tokens" not in self.renamed:
            self._note(error, name, instead=other)
            self.renamed["max_tokens"] = other
            return True
        if least and int(least[1]) > sent[name]:
            self._note(error, name, least=int(least[1]))
            self.least["max_tokens"] = int(least[1])
            return True
        return False

    def make_room(self, room: int) -> None:
        """A longer reply from now on: hidden tokens took all of it, and nothing was said."""
        self.least["max_tokens"] = room
        self.refusals.append({"parameter": "max_tokens", "reason": "empty reply", "least": room})

    def _leave_out(self, error: RequestRefused, name: str, *, named: bool = True) -> None:
        self._note(error, name, **({} if named else {"named": False}))
        self.left_out.append(name)

    def _note(self, error: RequestRefused, name: str, **how: Any) -> None:
        self.refusals.append({"parameter": name, "status": error.status, **how})


def _names(said: str, name: str) -> bool:
    """Whether a refusal names a parameter, as a name and not as a word of the prompt it repeats.

    >>> _names("Unsupported parameter: 'seed' is not supported", "seed")
    True
    >>> _names("Unrecognized request arguments supplied: min_p, top_k", "top_k")
    True
    >>> _names('{"message": "sow the seed"}', "seed")
    False
    """
    if name in _CONTENT:
        return False
    quoted = rf"""['"`]{name}\\?['"`]|(?<![\w.]){name}:|supplied: [\w, ]*\b{name}\b"""
    plain = rf"(?<!\w){name}(?!\w)" if len(name) > 6 else quoted
    return re.search(f"{quoted}|{plain}", said, re.I) is not None


def without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """What the system message says, at the beginning of the user's first message.

    >>> said = (("system", "Be kind."), ("user", "Hi"))
    >>> without_system([{"role": role, "content": content} for role, content in said])
    [{'role': 'user', 'content': 'Be kind.\\n\\nHi'}]
    """
    before = [m["content"] for m in messages if m["role"] == "system"]
    rest = [m for m in messages if m["role"] != "system"]
    if not before or not rest:
        return [{**m, "role": "user"} for m in messages] if before else rest
    return [{**rest[0], "content": "\n\n".join([*before, rest[0]["content"]])}, *rest[1:]]
