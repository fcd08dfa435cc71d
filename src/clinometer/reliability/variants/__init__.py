"""Context-added versions: the blanks of a statement filled in many plausible ways.

accepted    check a version: the statement's words survive in order, additions only at blanks
prompts     the prompt for a language model (Figure 7)
filling     shared by the fillers: how long a fill may be, which words cannot end one
phrases     blanks filled with built-in phrases that a model chooses, offline
phrase_lists  which of them suit a blank
masked      blanks filled by a masked model, offline
causal      blanks filled by a causal model, weighted by how well the rest follows
make        statements to versions, resumable
diversity   how different the versions are
"""

from clinometer.reliability.variants.make import VariantSettings, accept_version, make_variants

__all__ = ["VariantSettings", "accept_version", "make_variants"]
