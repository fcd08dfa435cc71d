"""What the options of clinometer audit mean to the library."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clinometer.cli.audit.options import AuditOptions
from clinometer.cli.parameters import parse_norm
from clinometer.errors import SettingsError

if TYPE_CHECKING:
    from clinometer.models import LoadOptions
    from clinometer.runs import AuditSettings


def audit_settings(options: AuditOptions) -> AuditSettings:
    """Settings of the audit, without the chat template."""
    from clinometer.models import WordOptions
    from clinometer.runs import AuditSettings

    draw, measure = options.draw, options.measure
    return AuditSettings(
        max_contexts=draw.max_contexts,
        precision=draw.precision,
        seed=draw.seed,
        norm=parse_norm(measure.norm),
        normalize=not measure.raw,
        coverage_threshold=measure.coverage_threshold,
        replicates=measure.replicates,
        level=measure.level,
        clusters=measure.cluster,
        two_way=measure.two_way,
        load=_load_options(options),
        words=WordOptions(**asdict(options.words)),
    )


def _load_options(options: AuditOptions) -> LoadOptions:
    from clinometer.models import LoadOptions, SampleOptions, ServerOptions

    load, manner = options.load, options.manner
    return LoadOptions(
        kind=load.kind,
        device=load.device,
        dtype=load.dtype,
        revision=load.revision,
        batch_tokens=_batch_tokens(load.batch_size),
        device_map=manner.device_map,
        quantize=manner.quantize,
        chat_request=manner.chat_request,
        sampled=None
        if manner.sampled is None
        else SampleOptions(
            draws=manner.sampled, temperature=manner.temperature, seed=options.draw.seed
        ),
        server=ServerOptions(**asdict(options.server)),
        **asdict(options.trust),
    )


def _batch_tokens(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise SettingsError(f"--batch-size: expected auto or a number of tokens, found {text!r}")
    return int(text)
