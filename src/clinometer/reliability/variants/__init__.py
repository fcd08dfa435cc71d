"""Context-added versions: the blanks of a statement filled in many plausible ways.

make      statements to versions, checked, counted and resumable
phrases   blanks filled with built-in phrases that a model chooses, offline
"""

from clinometer.reliability.variants.make import VariantSettings, accept_version, make_variants

__all__ = ["VariantSettings", "accept_version", "make_variants"]
