"""How `next`, `break` and `return` travel from the call to the place they leave.

They are exceptions, but no errors: a lambda or body that they may leave catches them. One that reaches a place where it has no
meaning becomes an error there, which is why each remembers where it was called.
"""

from typing import Any

from precast.base.spans import Source, Span


class ControlFlow(Exception):
    """A jump on its way; `source` and `span` are of the call that started it, filled in by the call."""

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
