"""Wire formats: how chat endpoints are asked and how they answer, one file each.

A new one is a file here with its `WireFormat`, an entry in `formats.py`, and the provider that
speaks it in `models/providers.py`.
"""
