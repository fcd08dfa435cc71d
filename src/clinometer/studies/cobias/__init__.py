"""Appendix D of the COBIAS paper."""
