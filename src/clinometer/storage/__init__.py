"""Files that survive: written whole or not at all, one writer at a time, digests, caches."""
