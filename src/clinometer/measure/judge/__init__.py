"""Categories that a judge assigned, corrected by what people say of the same replies."""
