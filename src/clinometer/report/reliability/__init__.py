"""The page of reliability runs: how stable statements are when context is added."""
