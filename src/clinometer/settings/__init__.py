"""Settings declared once, for Python and the command line.

`ranges` has the numbers that a setting accepts, `option` declares a setting with its type, default,
range and help, and `values` makes dataclasses of settings from what was given by name or as text.

Fields, defaults and metadata are those of `dataclasses`, and pydantic converts texts. The check of
a number is ours: measure and statistics, which import numpy and scipy alone, use the same ranges,
and an error is one line: "name: expected ..., found ...".
"""

from clinometer.settings.option import (
    Option,
    check_settings,
    dataclass_in,
    option,
    option_of,
    option_settings,
)
from clinometer.settings.ranges import (
    COUNT,
    COUNT_OR_0,
    LEVEL,
    PORT,
    POSITIVE,
    REPLICATES,
    SAMPLES,
    SEED,
    SHARE,
    SHARE_ABOVE_0,
    SHARE_BELOW_1,
    TEMPERATURE,
    TOKENS,
    TOLERANCE,
    VERSIONS,
    Range,
)
from clinometer.settings.values import named_values, values_from_texts, with_settings

__all__ = [
    "COUNT",
    "COUNT_OR_0",
    "LEVEL",
    "PORT",
    "POSITIVE",
    "REPLICATES",
    "SAMPLES",
    "SEED",
    "SHARE",
    "SHARE_ABOVE_0",
    "SHARE_BELOW_1",
    "TEMPERATURE",
    "TOKENS",
    "TOLERANCE",
    "VERSIONS",
    "Option",
    "Range",
    "check_settings",
    "dataclass_in",
    "named_values",
    "option",
    "option_of",
    "option_settings",
    "values_from_texts",
    "with_settings",
]
