"""How `next`, `break` and `return` travel from the call to the body they leave.

They are exceptions but not errors: the lambda or body that they may leave catches them. Elsewhere a jump becomes an error, so each
jump remembers where it was called.
"""

from typing import Any

from precast.base.spans import Source, Span


class ControlFlow(Exception):
    """A jump in flight; `source` and `span` locate the call that started it, and that call fills them in."""

    source: Source | None = None
    span: Span | None = None

    def __init__(self, value: Any = None) -> None:
        super().__init__()
        self.value = value


class Next(ControlFlow):
    """Leaves the lambda, function, class or define it is called in, with a value."""


class Break(ControlFlow):
    """Ends the innermost iteration."""


class Return(ControlFlow):
    """Leaves the function, class or define around it, through any lambdas, with a value."""
