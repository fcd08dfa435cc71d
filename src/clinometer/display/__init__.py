"""How results are shown: tables, numbers and notebooks."""
