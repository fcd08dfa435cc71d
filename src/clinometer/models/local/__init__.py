"""Models of the transformers library, one file per kind."""
