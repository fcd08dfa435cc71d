"""Formats whose own libraries check them: `make test-peers` installs those, and reads back."""
