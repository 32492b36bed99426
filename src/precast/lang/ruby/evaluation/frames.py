"""Local variables of running Ruby code."""

from typing import Any

from precast.lang.ruby.execution import Execution


class Frame:
    """The local variables of one block or method; a block also sees those of the frames around it."""

    __slots__ = ("execution", "outer", "variables")

    def __init__(self, execution: Execution, outer: "Frame | None" = None) -> None:
        self.execution = execution
        self.outer = outer
        self.variables: dict[str, Any] = {}

    def holder(self, name: str) -> "Frame | None":
        """Return the innermost frame that has a variable of this name, None if no frame has it."""
        frame: Frame | None = self
        while frame is not None and name not in frame.variables:
            frame = frame.outer
        return frame

    def assign(self, name: str, value: Any) -> None:
        """Set the variable where it exists, or create it in this frame."""
        (self.holder(name) or self).variables[name] = value
