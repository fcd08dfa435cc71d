"""Every answer of a run to look at: one data file, and the modules that draw it in a browser."""
