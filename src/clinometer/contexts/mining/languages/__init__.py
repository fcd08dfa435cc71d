"""Languages the miner supports, one folder each; no other code depends on a language.

Another distribution adds a language by an entry point in the group `clinometer.languages`: the
language tag, and a module whose `open_language(settings)` gives a `Language`; see
docs/howto/language.md. What the languages share is here, too: decisions, word lists, words in a
text, and spaCy parses.
"""

from clinometer.contexts.mining.languages.automaton import WordAutomaton
from clinometer.contexts.mining.languages.decisions import Decision, Dropped, drop_if
from clinometer.contexts.mining.languages.language import (
    Language,
    language_modules,
    open_language,
)
from clinometer.contexts.mining.languages.lexicon import (
    read_lexicon,
    read_toml,
    word_list,
)
from clinometer.contexts.mining.languages.parses import Parsed, SpacyParser, has_dep

__all__ = [
    "Decision",
    "Dropped",
    "Language",
    "Parsed",
    "SpacyParser",
    "WordAutomaton",
    "drop_if",
    "has_dep",
    "language_modules",
    "open_language",
    "read_lexicon",
    "read_toml",
    "word_list",
]
