"""Mining: contexts and their weights from a corpus that resembles where a model is used."""

from tiltmeter.contexts.mining.decision import Decision
from tiltmeter.contexts.mining.mine import mine
from tiltmeter.contexts.mining.settings import MineSettings

__all__ = ["Decision", "MineSettings", "mine"]
