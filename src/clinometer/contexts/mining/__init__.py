"""Mining: contexts and their weights from a corpus that resembles the model's use."""

from clinometer.contexts.mining.languages import Decision
from clinometer.contexts.mining.run import mine
from clinometer.contexts.mining.settings import MineSettings

__all__ = ["Decision", "MineSettings", "mine"]
