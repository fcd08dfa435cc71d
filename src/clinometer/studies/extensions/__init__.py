"""The framework beyond stereotypes: knowledge and images."""
