"""Durable files: atomic writes, one writer at a time, digests, caches."""
