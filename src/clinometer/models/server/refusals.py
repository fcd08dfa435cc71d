"""What refusals teach: the form of requests that a server takes.

Providers take the same request with different parameters: one wants max_completion_tokens, another
no seed, a third temperature or top_p but not both. Lists of who takes what are out of date when
they are written, and a refusal names the parameter. So a request is sent with all that matters;
what is refused is renamed, changed or left out, one refusal at a time, and remembered with the run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clinometer.errors import SettingsError
from clinometer.models.client.client import Client
from clinometer.models.client.failures import RequestRefused
from clinometer.models.client.usage import LENGTHS
from clinometer.models.server.request import CONTENT, NO_CUTS, without_system

ADAPTABLE = (400, 403, 422)
"""Statuses of a request that another form of it may pass."""

FILTERED = re.compile(r"content_?filter|content management policy|content_policy", re.I)
"""What the provider's filter says when it withholds a reply."""

_SPARE = (*NO_CUTS, "presence_penalty", "frequency_penalty", "stream", "top_p", "seed")
"""What may be left out, what matters least first. A temperature may be left out if it is 1, which
is every provider's default."""

_UNNAMED = (
    tuple(NO_CUTS),
    ("presence_penalty", "frequency_penalty", "top_p"),
    ("seed",),
)
"""Left out together before a server has accepted anything, if its refusal names nothing."""

_SEVERAL = re.compile(
    r"extra_forbidden|unrecognized|unknown name|unexpected keyword", re.I
)
"""A refusal that names all parameters that it is about."""

_LEAST = re.compile(
    r"(?:>=|at least|minimum(?: value)? (?:is|of)|greater than or equal to)\D{0,3}(\d+)",
    re.I,
)
"""The least that a refusal allows of a parameter."""

_MOST = re.compile(
    r"(?:<=|at most|maximum(?: value)? (?:is|of)|less than or equal to)\D{0,3}(\d+)",
    re.I,
)
"""The most that a refusal allows of a parameter."""

_SYSTEM = re.compile(r"system.{0,20}role|role.{0,40}system", re.I)
"""A refusal of messages whose role is system."""

_UNMISTAKABLE = 6
"""A parameter with a longer name than this is no word of a sentence."""


class RequestForm:
    """The form of requests that a server takes, as far as its refusals show."""

    def __init__(self, client: Client, earlier: Mapping[str, Any]) -> None:
        """Begin with what the provider is known to take, and with the record of an earlier run."""
        self.client = client
        self.renamed: dict[str, str] = {}
        """Our names of parameters, and the server's."""
        if client.address.provider is not None:
            self.renamed.update(client.address.provider.renamed)
        self.renamed.update(earlier.get("renamed", {}))
        self.left_out: list[str] = list(earlier.get("left_out", ()))
        self.least: dict[str, int] = dict(earlier.get("least", {}))
        """The smallest value that is sent of a parameter."""
        self.most: dict[str, int] = dict(earlier.get("most", {}))
        """The largest value that is sent of a parameter."""
        self.takes_system = bool(earlier.get("system", True))
        """Whether messages may have the role system."""
        self.refusals: list[dict[str, Any]] = list(earlier.get("refusals", ()))
        self.anything_accepted = bool(earlier.get("sent"))
        """Whether anything was accepted: then an unnamed refusal is about the content."""

    def record(self) -> dict[str, Any]:
        """Return what was refused and what follows from it, for run.json."""
        record: dict[str, Any] = {
            "refusals": self.refusals,
            "renamed": self.renamed,
            "left_out": self.left_out,
            "least": self.least,
            "most": self.most,
        }
        if not self.takes_system:
            record["system"] = False
        return record

    def fit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request as the server takes it."""
        request: dict[str, Any] = {}
        for name, value in body.items():
            if name in self.left_out:
                continue
            if name in self.least:
                value = max(value, self.least[name])
            if name in self.most:
                value = min(value, self.most[name])
            if name == "messages" and not self.takes_system:
                value = without_system(value)
            request[self.renamed.get(name, name)] = value
        return request

    def learn(self, sent: Mapping[str, Any], refusal: RequestRefused) -> bool:
        """Return whether there is another form to try; if so it is remembered.

        An error where the refused parameter is one that the user has set.
        """
        named = self._named(sent, refusal)
        if "logprobs" in sent and ("logprobs" in named or "top_logprobs" in named):
            return self._learn_log_probs(sent, refusal, named)
        if refusal.status == 403:
            return False
        if self._leave_out_spare(refusal, named):
            return True
        if any(name in LENGTHS for name in named):
            return self._learn_length(sent, refusal)
        if "temperature" in named:
            self._leave_out_temperature(sent, refusal)
            return True
        if "reasoning_effort" in named:
            raise SettingsError(
                f"{self.client.place}: takes no effort {sent['reasoning_effort']} for this "
                f"model; {refusal}"
            )
        if "n" in named:
            self._note(refusal, "n")
            return False
        if self._do_without_system(sent, refusal):
            return True
        if self.anything_accepted or FILTERED.search(refusal.answer):
            return False
        return self._leave_out_unnamed(sent, refusal)

    def need_room(self, tokens: int) -> None:
        """Give every reply room for so many tokens, since hidden ones left none."""
        self.least["max_tokens"] = tokens
        self.refusals.append(
            {"parameter": "max_tokens", "reason": "empty reply", "least": tokens}
        )

    def _our_names(self, sent: Mapping[str, Any]) -> dict[str, str]:
        """Return the parameters of a request: the names that were sent, and ours."""
        ours = {theirs: name for name, theirs in self.renamed.items()}
        return {name: ours.get(name, name) for name in sent}

    def _named(self, sent: Mapping[str, Any], refusal: RequestRefused) -> list[str]:
        """Return our names of the parameters that a refusal names."""
        names = self._our_names(sent)
        return [ours for name, ours in names.items() if _names(refusal.answer, name)]

    def _learn_log_probs(
        self, sent: Mapping[str, Any], refusal: RequestRefused, named: list[str]
    ) -> bool:
        """Ask for shorter lists of tokens, if a refusal says how long they may be."""
        most = _MOST.search(refusal.answer)
        if "top_logprobs" in named and most and int(most[1]) < sent["top_logprobs"]:
            self._note(refusal, "top_logprobs", most=int(most[1]))
            self.most["top_logprobs"] = int(most[1])
            return True
        self._note(refusal, "logprobs")
        return False

    def _leave_out_spare(self, refusal: RequestRefused, named: list[str]) -> bool:
        """Leave out the named parameter that matters least, or all where all are named."""
        spare = [name for name in _SPARE if name in named]
        if not _SEVERAL.search(refusal.answer):
            spare = spare[:1]
        for name in spare:
            self._leave_out(refusal, name)
        return bool(spare)

    def _learn_length(self, sent: Mapping[str, Any], refusal: RequestRefused) -> bool:
        """Use the other name of the length of a reply, or ask for the least that is allowed."""
        name = next(name for name in LENGTHS if name in sent)
        other_name = next(length for length in LENGTHS if length != name)
        if other_name in refusal.answer and "max_tokens" not in self.renamed:
            self._note(refusal, name, instead=other_name)
            self.renamed["max_tokens"] = other_name
            return True
        least = _LEAST.search(refusal.answer)
        if least and int(least[1]) > sent[name]:
            self._note(refusal, name, least=int(least[1]))
            self.least["max_tokens"] = int(least[1])
            return True
        return False

    def _leave_out_temperature(
        self, sent: Mapping[str, Any], refusal: RequestRefused
    ) -> None:
        """Leave out a temperature of 1, which is the default; another one is an error."""
        if sent["temperature"] != 1.0:
            raise SettingsError(
                f"{self.client.place}: takes no temperature {sent['temperature']:g}, only "
                "the model's default; leave out temperature="
            )
        self._leave_out(refusal, "temperature")

    def _do_without_system(
        self, sent: Mapping[str, Any], refusal: RequestRefused
    ) -> bool:
        """Put the system message into the user's, if a refusal is about its role."""
        has_role = "messages" in sent and self.takes_system
        if not has_role or not _SYSTEM.search(refusal.answer):
            return False
        self._note(refusal, "system", instead="the user's message")
        self.takes_system = False
        return True

    def _leave_out_unnamed(
        self, sent: Mapping[str, Any], refusal: RequestRefused
    ) -> bool:
        """Leave out the group of parameters that matters least of those still sent, if any is."""
        sent_names = set(self._our_names(sent).values())
        for group in _UNNAMED:
            spare = [name for name in group if name in sent_names]
            for name in spare:
                self._leave_out(refusal, name, named=False)
            if spare:
                return True
        return False

    def _leave_out(self, refusal: RequestRefused, name: str, **details: Any) -> None:
        self._note(refusal, name, **details)
        self.left_out.append(name)

    def _note(self, refusal: RequestRefused, name: str, **details: Any) -> None:
        """Remember what was refused, and what is done about it, for run.json."""
        self.refusals.append({"parameter": name, "status": refusal.status, **details})


def _names(answer: str, name: str) -> bool:
    """Return whether a refusal names a parameter, as a name and not as a word of the prompt.

    >>> _names("Unsupported parameter: 'seed' is not supported", "seed")
    True
    >>> _names("Unrecognized request arguments supplied: min_p, top_k", "top_k")
    True
    >>> _names('{"message": "sow the seed"}', "seed")
    False
    """
    if name in CONTENT:
        return False
    pattern = rf"""['"`]{name}\\?['"`]|(?<![\w.]){name}:|supplied: [\w, ]*\b{name}\b"""
    if len(name) > _UNMISTAKABLE:
        pattern = rf"{pattern}|(?<!\w){name}(?!\w)"
    return re.search(pattern, answer, re.I) is not None
