"""Human judgements of statements: do annotators agree, and does the score match their judgement?

Importing this package loads no statsmodels; the regressions of `validate` do.
"""

from clinometer.reliability.people.agreement import Agreement, Rule, accepted, agreement
from clinometer.reliability.people.ratings import Ratings, read_ratings
from clinometer.reliability.people.validation import StatementScores, Validation, validate

__all__ = [
    "Agreement",
    "Ratings",
    "Rule",
    "StatementScores",
    "Validation",
    "accepted",
    "agreement",
    "read_ratings",
    "validate",
]
