"""Chinese: patterns over segmented text."""
