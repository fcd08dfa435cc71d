"""clinometer reliability: one module per subcommand."""
