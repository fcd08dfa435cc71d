"""Built-in topics and the lists of groups that they use."""
