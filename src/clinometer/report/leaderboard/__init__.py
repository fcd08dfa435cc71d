"""Many runs as static pages: ranks with their probabilities, a chart, one page per model."""
