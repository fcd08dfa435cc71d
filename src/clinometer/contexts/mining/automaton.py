"""Find words in running text with one automaton, regardless of how many words there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clinometer.extras import require


class WordAutomaton:
    """Finds whole words of a list, ignoring case.

    >>> list(WordAutomaton(["he", "she"]).find("There She said he"))
    [(6, 'she'), (15, 'he')]
    """

    def __init__(self, words: Iterable[str], *, whole: bool = True) -> None:
        require("finding words in a corpus", "ahocorasick")
        import ahocorasick

        self._whole = whole
        self._automaton = ahocorasick.Automaton()
        for word in words:
            self._automaton.add_word(word.lower(), word.lower())
        self._automaton.make_automaton()

    def find(self, text: str) -> Iterator[tuple[int, str]]:
        """The start of each word, and the word, in the order of their ends."""
        lower = text.lower()
        if len(lower) != len(text):  # lower() lengthens a few letters, which would shift positions
            lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        size = len(lower)
        for end, word in self._automaton.iter(lower):
            begin = end - len(word) + 1
            if not self._whole or not (
                (begin and lower[begin - 1].isalnum())
                or (end + 1 < size and lower[end + 1].isalnum())
            ):
                yield begin, word
