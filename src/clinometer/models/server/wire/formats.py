"""The table of wire formats."""

from __future__ import annotations

from clinometer.models.server.wire.anthropic import AnthropicMessages
from clinometer.models.server.wire.format import WireFormat
from clinometer.models.server.wire.openai import ChatCompletions

WIRE_FORMATS: dict[str, WireFormat] = {
    wire.name: wire for wire in (ChatCompletions(), AnthropicMessages())
}
"""Every wire format by its name."""
