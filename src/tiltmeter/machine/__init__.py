"""What this machine has: programs, packages, models and room, each found on its own."""

from tiltmeter.machine.finding import Finding
from tiltmeter.machine.programs import find_axe, find_browser, find_postgres
from tiltmeter.machine.survey import survey

__all__ = ["Finding", "find_axe", "find_browser", "find_postgres", "survey"]
