"""French: links between clauses over a spaCy parse."""
