"""Pages in a browser: the viewer of runs, and what any later page stands on."""

from tiltmeter.web.viewer import viewer

__all__ = ["viewer"]
