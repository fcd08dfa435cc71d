"""How every chart looks: theme, labels and where they go."""
