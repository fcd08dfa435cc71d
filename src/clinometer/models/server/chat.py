"""The chat endpoint: messages in, replies or the most probable first tokens out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from clinometer.models.client.client import Client
from clinometer.models.client.failures import Missing, RequestRefused
from clinometer.models.server.refusals import ADAPTABLE, FILTERED, RequestForm
from clinometer.models.server.reply import checked_texts
from clinometer.models.server.request import CONTENT, PLAIN, Messages
from clinometer.models.server.wire.formats import WIRE_FORMATS

T = TypeVar("T")

LISTED = 20
"""First tokens to request: as many as providers list (OpenAI, Google, llama.cpp, vLLM)."""

_FIRST_ROOM = 512
"""Tokens of room for a reply after hidden tokens have left none, at first."""

_MOST_ROOM = 16_384
"""Tokens of room for a reply at most."""

_TRIAL = ({"role": "user", "content": "Is water wet? Answer yes or no."},)
"""A question of a word, to find out whether first tokens are listed."""


class ChatEndpoint:
    """Asks one model, in the form that its server takes as far as its refusals show."""

    def __init__(
        self, client: Client, model: str, earlier: Mapping[str, Any] | None = None
    ) -> None:
        """Begin with the record of a run that is resumed, if there is one."""
        earlier = earlier or {}
        provider = client.address.provider
        self.client = client
        self.model = model
        self.wire = WIRE_FORMATS["openai" if provider is None else provider.wire]
        self.form = RequestForm(client, earlier)
        self.sent: dict[str, Any] = dict(earlier.get("sent", {}))
        """What was sent last besides the content."""
        self.answered_by: set[str] = set(earlier.get("answered_by", ()))
        self.filtered = 0
        """Replies that the provider's filter withheld."""
        self.tokens_listed: bool | None = earlier.get("lists")
        """Whether log-probabilities come back; None until it was tried."""

    def record(self) -> dict[str, Any]:
        """Return what is sent besides the text, what was refused, and which model says it answered.

        For run.json.
        """
        sent = dict(self.sent)
        seed = self.form.renamed.get("seed", "seed")
        if seed in sent:
            sent[seed] = "one a request"
        record = {
            "address": self.client.address.base,
            "sent": sent,
            **self.form.record(),
            "answered_by": sorted(self.answered_by),
        }
        if self.filtered:
            record["filtered"] = self.filtered
        if self.tokens_listed is not None:
            record["lists"] = self.tokens_listed
        return record

    async def ask(
        self, messages: Messages, length: int, **parameters: Any
    ) -> list[str]:
        """Return one text per reply; "" for one that the provider's filter withheld.

        Replies that hidden tokens left no room for are missing, and the next request has more room.
        """
        n = parameters.get("n", 1)

        def read(reply: Any) -> list[str | None]:
            texts = self.wire.replies(reply, n)
            checked_texts([text or "" for text in texts], self._room(length))
            return texts

        try:
            texts = await self._chat(messages, read, max_tokens=length, **parameters)
        except RequestRefused as error:
            if not FILTERED.search(error.answer):
                raise
            self.filtered += n
            return [""] * n
        complete = [text for text in texts if text is not None]
        if len(complete) < len(texts):
            room = self._room(length)
            if room >= _MOST_ROOM:
                return [text or "" for text in texts]
            self.form.need_room(min(max(4 * room, _FIRST_ROOM), _MOST_ROOM))
        return complete

    def _room(self, length: int) -> int:
        """Return the tokens that a reply may have."""
        return max(length, self.form.least.get("max_tokens", 0))

    async def first_tokens(self, messages: Messages) -> list[tuple[str, float]]:
        """Return the most probable first tokens of a reply with their probabilities."""
        return await self._chat(
            messages,
            self.wire.first_tokens,
            max_tokens=1,
            temperature=1.0,
            **PLAIN,
            logprobs=True,
            top_logprobs=LISTED,
        )

    def lists_tokens(self) -> bool:
        """Return whether log-probabilities come back: asked once, with a question of a word."""
        if self.tokens_listed is None:
            self.tokens_listed = self.wire.lists_tokens and self._try_first_tokens()
        return self.tokens_listed

    def _try_first_tokens(self) -> bool:
        self.client.probing = True
        try:
            self.client.run(self.first_tokens(_TRIAL))
        except Missing:
            return False
        except RequestRefused:
            refusals = self.form.refusals
            if not refusals or refusals[-1]["parameter"] != "logprobs":
                raise
            return False
        finally:
            self.client.probing = False
        return True

    async def _chat(
        self, messages: Messages, read: Callable[[Any], T], **parameters: Any
    ) -> T:
        """Ask in the wire format of the server, and note which model says it answered."""
        body = {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            **parameters,
        }

        def read_and_note_model(reply: Any) -> T:
            value = read(reply)
            # A name may stand for another model tomorrow.
            name = reply.get("model")
            if isinstance(name, str):
                self.answered_by.add(name[:80])
            return value

        request = self.wire.request(body)
        return await self.post(self.wire.path(self.model), request, read_and_note_model)

    async def post(
        self, path: str, body: Mapping[str, Any], read: Callable[[Any], T]
    ) -> T:
        """Send a request in the form that the server takes; return what is read in the reply."""
        url = f"{self.client.address.base}/{path}"
        while True:
            request = self.form.fit(body)
            try:
                value = await self.client.send("POST", url, request, read)
            except RequestRefused as error:
                if self.form.fit(body) != request:
                    continue  # another request has learnt it meanwhile
                if error.status not in ADAPTABLE:
                    raise
                if not self.form.learn(request, error):
                    raise
            else:
                self.sent = {k: v for k, v in request.items() if k not in CONTENT}
                self.form.anything_accepted = True
                return value
