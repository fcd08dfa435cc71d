"""Is a run worse than its baseline? One decision for the command, for a test suite and for CI."""
