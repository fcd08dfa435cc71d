"""What this machine has: programs, packages, models and room, each found on its own."""

from clinometer.machine.finding import Finding
from clinometer.machine.programs import find_axe, find_browser, find_postgres
from clinometer.machine.survey import survey

__all__ = ["Finding", "find_axe", "find_browser", "find_postgres", "survey"]
