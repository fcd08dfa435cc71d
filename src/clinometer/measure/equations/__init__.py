"""The equations of the framework, one a file."""
