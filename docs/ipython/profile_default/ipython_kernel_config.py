"""Jupyter's kernel while the site is built: it talks to this machine alone, and need not warn."""

c.IPKernelApp.log_level = "ERROR"  # type: ignore[name-defined]  # noqa: F821
