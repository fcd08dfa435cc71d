"""Pages in a browser: the viewer of runs, and the basis of all pages."""

from clinometer.extras import require

# Here and not in the modules below, which import these at their top.
require("serving pages", "fastapi", "uvicorn", "markdown_it", "python_multipart")

from clinometer.web.run_viewer import ViewerServer, view_run  # noqa: E402
from clinometer.web.viewer import viewer  # noqa: E402

__all__ = ["ViewerServer", "view_run", "viewer"]
