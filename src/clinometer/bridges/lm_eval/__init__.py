"""lm-evaluation-harness: its samples as runs, and our audits as tasks of it."""
