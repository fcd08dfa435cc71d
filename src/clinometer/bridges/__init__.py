"""Other people's harnesses: what they measured, read as runs, and our audits inside them."""
