"""How a model is asked a question of BBQ: prompt formats, which are contexts."""

from __future__ import annotations

from dataclasses import dataclass

from clinometer.topics.bbq.items import BbqItem

LETTERS = ("A", "B", "C")


@dataclass(frozen=True)
class BbqFormat:
    """A prompt format.

    name      of the format
    prompt    {context}, {question} and {options}; it ends where the reply begins
    letters   whether the options have letters, and the reply is one of them
    """

    name: str
    prompt: str
    letters: bool = False

    def text(self, item: BbqItem) -> str:
        """The prompt of an item."""
        if self.letters:
            lines = zip(LETTERS, item.options, strict=True)
            options = "\n".join(f"{letter}. {text}" for letter, text in lines)
        else:
            options = f"{', '.join(item.options[:-1])} or {item.options[-1]}"
        return self.prompt.format(context=item.context, question=item.question, options=options)

    def answers(self, item: BbqItem) -> tuple[str, ...]:
        """What a model would write for each option."""
        return LETTERS if self.letters else item.options


#: `open` is the format of lm-evaluation-harness: the options are not shown, and their texts scored.
FORMATS = {
    "open": BbqFormat("open", "{context}\n\nQ: {question}\nA:"),
    "listed": BbqFormat("listed", "{context} {question} Answer with {options}.\nAnswer:"),
    "letters": BbqFormat("letters", "{context}\n{question}\n{options}\nAnswer:", letters=True),
}
