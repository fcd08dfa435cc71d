"""Likelihoods and embeddings of whole texts."""
