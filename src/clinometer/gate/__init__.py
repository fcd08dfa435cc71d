"""Is a run worse than its baseline? One decision for the command, for pytest and for CI."""
