"""What the risks are called for people: R, Rᵇ, Rᵛ of a model; r, rᵇ, rᵛ of a group."""

from __future__ import annotations

#: The three numbers of a model, as fields of a report and keys in JSON.
MEASURES = ("R", "R_bias", "R_volatility")

#: In formulas and where space is tight.
SYMBOLS = {
    "R": "R",
    "R_bias": "Rᵇ",
    "R_volatility": "Rᵛ",
    "r": "r",
    "r_bias": "rᵇ",
    "r_volatility": "rᵛ",
}
#: In charts, where nothing else says what R is.
TITLES = {"R": "R discrimination", "R_bias": "Rᵇ bias", "R_volatility": "Rᵛ volatility"}
#: Over the columns of tables.
HEADINGS = {
    **TITLES,
    "R": "R",
    "r": "r",
    "r_bias": "rᵇ bias",
    "r_volatility": "rᵛ volatility",
}
#: The same in a terminal of 80 columns.
NARROW_HEADINGS = ("R", "Rᵇ bias", "Rᵛ volatil.")
#: In sentences.
IN_SENTENCES = {"R": "R", "R_bias": "bias risk", "R_volatility": "volatility risk"}
#: On the axis of a chart of groups.
AXES = {
    "r": "discrimination risk r",
    "r_bias": "bias risk rᵇ",
    "r_volatility": "volatility risk rᵛ",
}
