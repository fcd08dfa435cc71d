"""Built-in context sets: a CSV file and a sidecar .json each."""
