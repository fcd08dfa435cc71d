"""Context-added versions: the blanks of a statement filled in many plausible ways.

accepted    a version checked: the statement's words survive in order, additions stand at blanks
prompts     what a language model is told (Figure 7)
filling     what every filler shares: how long a fill may be, which words end one
masked      blanks filled by a masked model, offline
causal      blanks filled by a causal model that reads on
make        statements to versions, resumable
diversity   how different the versions are
"""

from clinometer.reliability.variants.accepted import accept_version
from clinometer.reliability.variants.make import VariantSettings, make_variants

__all__ = ["VariantSettings", "accept_version", "make_variants"]
