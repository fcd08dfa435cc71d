"""Context-addition points: where could more be said?

gaps      places for blanks in a text, and a model's answer checked against the text
rules     blanks from the parse, offline
prompts   what a language model is told (Figure 6)
propose   statements to points: a model's answers, retried, then the rules
measure   precision, recall and F1 of positions
tune      a LoRA adapter from expert examples
"""

from clinometer.reliability.blanks.positions import accept, with_blanks
from clinometer.reliability.blanks.propose import PointSettings, propose_points
from clinometer.reliability.blanks.rules import rule_points

__all__ = ["PointSettings", "accept", "propose_points", "rule_points", "with_blanks"]
