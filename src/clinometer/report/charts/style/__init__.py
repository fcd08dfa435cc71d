"""How every chart looks: theme, labels and their positions."""
