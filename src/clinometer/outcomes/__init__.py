"""Outcomes: what kind of answer a run holds, one file each, chosen once (`choose.outcome_of`).

A new kind of answer is a new file here and a line in `choose`. Nothing else asks what a run holds.
"""
