"""Local variables of a template's code."""

from typing import Any

from precast.lang.ruby.erb.rendering import Rendering


class Frame:
    """Local variables; a block sees those around it."""

    __slots__ = ("outer", "rendering", "variables")

    def __init__(self, rendering: Rendering, outer: "Frame | None" = None) -> None:
        self.rendering = rendering
        self.outer = outer
        self.variables: dict[str, Any] = {}

    def holder(self, name: str) -> "Frame | None":
        frame: Frame | None = self
        while frame is not None and name not in frame.variables:
            frame = frame.outer
        return frame

    def assign(self, name: str, value: Any) -> None:
        (self.holder(name) or self).variables[name] = value
