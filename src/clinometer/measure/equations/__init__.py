"""The equations of the framework, one per file."""
