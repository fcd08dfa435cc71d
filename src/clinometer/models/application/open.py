"""Open an application by its name."""

from __future__ import annotations

from clinometer.errors import SettingsError
from clinometer.extras import require
from clinometer.models.application.sampler import ApplicationSampler
from clinometer.models.catalog.spec import ModelSource, ModelSpec
from clinometer.models.options import LoadOptions


def open_application(spec: ModelSpec, *, load: LoadOptions) -> ApplicationSampler:
    """Open `app:package.module:function` or `http:FILE.toml`."""
    if load.sampled is None:
        raise SettingsError(
            f"model {spec.name!r}: an application writes replies and has no probabilities; add "
            "--replies 5"
        )
    require("asking an application", "httpx")
    if spec.place is ModelSource.HTTP:
        from clinometer.models.application.http_file import open_address

        application = open_address(spec, load)
    else:
        from clinometer.models.application.function import open_function

        application = open_function(spec, load)
    try:
        return ApplicationSampler(spec, load, load.sampled, application)
    except BaseException:
        application.around.close()
        raise
