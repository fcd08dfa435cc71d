"""Every answer of a run: one data file, and the modules that draw it in a browser."""
