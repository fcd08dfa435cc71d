"""Context-addition points: where could more be said?

positions     where a text can have blanks, and a model's answer checked against the text
rules         blanks from the parse, offline
prompts       the prompt for a language model (Figure 6)
propose       statements to points: a model's answers, retried, then the rules
evaluate      precision, recall and F1 of positions
contribution  how much each blank changes a statement
tune          a LoRA adapter from expert examples
"""

from clinometer.reliability.blanks.positions import accept, with_blanks
from clinometer.reliability.blanks.propose import PointSettings, propose_points
from clinometer.reliability.blanks.rules import rule_points

__all__ = ["PointSettings", "accept", "propose_points", "rule_points", "with_blanks"]
