"""What people say of statements: do they agree, and does the score go with their judgement?

Importing this package loads no statsmodels; the regressions of `validate` do.
"""

from tiltmeter.reliability.people.acceptance import Rule, accepted
from tiltmeter.reliability.people.agreement import Agreement, agreement
from tiltmeter.reliability.people.ratings import Ratings, read_ratings
from tiltmeter.reliability.people.validation import Validation, validate

__all__ = [
    "Agreement",
    "Ratings",
    "Rule",
    "Validation",
    "accepted",
    "agreement",
    "read_ratings",
    "validate",
]
