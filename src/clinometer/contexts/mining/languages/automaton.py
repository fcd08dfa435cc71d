"""Words of a list in a text, found fast enough for every article of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clinometer.extras import require


class WordAutomaton:
    """An automaton that finds whole words of a list, ignoring case.

    >>> list(WordAutomaton(["he", "she"]).find("There She said he"))
    [(6, 'she'), (15, 'he')]
    """

    def __init__(self, words: Iterable[str]) -> None:
        require("finding words in a corpus", "ahocorasick")
        import ahocorasick

        self._automaton = ahocorasick.Automaton()
        for word in words:
            self._automaton.add_word(word.lower(), word.lower())
        self._automaton.make_automaton()

    def find(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the start of each word, and the word, in the order of their ends."""
        lower = _lower(text)
        for end, word in self._automaton.iter(lower):
            begin = end - len(word) + 1
            previous = lower[begin - 1 : begin]
            following = lower[end + 1 : end + 2]
            if not previous.isalnum() and not following.isalnum():
                yield begin, word


def _lower(text: str) -> str:
    """Return the text in lower case, each letter in its place.

    lower() lengthens a few letters, which would shift positions: these stay as they are.
    """
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
