"""Readouts: how a reply becomes a category, or an explicit `other`.

p(y | x, c) is the expectation of k(y | t) over the replies t of a model; the readout is k.
"""

from clinometer.readouts.choice import ChoiceReader, read_choice
from clinometer.readouts.question import ShownQuestion, option_orders
from clinometer.readouts.readers import Readout
from clinometer.readouts.reply import EMPTY, OTHER, REFUSAL, UNREAD, spoken

__all__ = [
    "EMPTY",
    "OTHER",
    "REFUSAL",
    "UNREAD",
    "ChoiceReader",
    "Readout",
    "ShownQuestion",
    "option_orders",
    "read_choice",
    "spoken",
]
