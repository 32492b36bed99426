"""Errors that a person can act on: a kind, a stable code, the fact, and the next step.

There are few kinds, because callers decide by kind: which exit code, which HTTP status, whether to retry. `CONSEQUENCES` is the only
table of these. The code identifies the exact error; each package declares its codes in its `issues` module, and a released code keeps its
meaning.
"""

import enum
import string
from typing import Any, ClassVar, NamedTuple

from precast.base.spans import Source, Span, render, visible


class Kind(enum.Enum):
    """The classes of errors by how a caller can react."""

    INPUT = "input"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    UNAUTHENTICATED = "unauthenticated"
    DENIED = "denied"
    UNAVAILABLE = "unavailable"
    LIMITED = "limited"
    INTERNAL = "internal"


class Consequence(NamedTuple):
    """What a kind means for the command line, for HTTP, and for a retry."""

    exit_code: int
    http_status: int
    retry: bool


# Exit codes are those of sysexits.h, so that 1 to 6 stay free for the results of a command (such as Puppet's detailed exit codes).
CONSEQUENCES: dict[Kind, Consequence] = {
    Kind.INPUT: Consequence(exit_code=64, http_status=400, retry=False),
    Kind.NOT_FOUND: Consequence(exit_code=66, http_status=404, retry=False),
    Kind.CONFLICT: Consequence(exit_code=73, http_status=409, retry=False),
    Kind.UNAUTHENTICATED: Consequence(exit_code=77, http_status=401, retry=False),
    Kind.DENIED: Consequence(exit_code=77, http_status=403, retry=False),
    Kind.UNAVAILABLE: Consequence(exit_code=75, http_status=503, retry=True),
    Kind.LIMITED: Consequence(exit_code=75, http_status=429, retry=True),
    Kind.INTERNAL: Consequence(exit_code=70, http_status=500, retry=False),
}


class PrecastError(Exception):
    """The base class of all errors that Precast raises on purpose."""

    kind: ClassVar[Kind] = Kind.INTERNAL

    def __init__(
        self, code: str, message: str, hint: str, source: Source | None = None, span: Span | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.source = source
        self.span = span

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickling an Exception calls the class with the message alone; that would fail in the process that waits for a worker.
        return type(self), (self.code, self.message, self.hint, self.source, self.span)

    def copy(self) -> "PrecastError":
        """A new error with the same content, to raise a cached error again without its traceback and context."""
        return type(self)(self.code, self.message, self.hint, self.source, self.span)

    @staticmethod
    def of_kind(kind: Kind, code: str, message: str, hint: str) -> "PrecastError":
        """Recreate an error that another process has raised, with its kind."""
        return _CLASSES[kind](code, message, hint)

    @property
    def consequence(self) -> Consequence:
        return CONSEQUENCES[self.kind]

    def render(self) -> str:
        """The error for a person: one line and a hint, with the file, the source line and a caret if they are known."""
        if self.source is not None and self.span is not None:
            return render(self.source, self.span, "error", self.message, self.code, self.hint)
        place = f"{visible(self.source.path)}: " if self.source is not None else ""
        hint = f"\n  hint: {visible(self.hint)}" if self.hint else ""
        return f"{place}error: {visible(self.message)} [{self.code}]{hint}"


class InputError(PrecastError):
    """The input is invalid; the same call will fail again."""

    kind = Kind.INPUT


class NotFoundError(PrecastError):
    """The named object does not exist, or the caller may not see it."""

    kind = Kind.NOT_FOUND


class ConflictError(PrecastError):
    """The request conflicts with the current state."""

    kind = Kind.CONFLICT


class UnauthenticatedError(PrecastError):
    """The caller has not proven an identity."""

    kind = Kind.UNAUTHENTICATED


class DeniedError(PrecastError):
    """The caller may not do this."""

    kind = Kind.DENIED


class UnavailableError(PrecastError):
    """A dependency is unavailable or full; the same call may succeed later."""

    kind = Kind.UNAVAILABLE


class LimitedError(PrecastError):
    """The caller has exceeded a quota; the same call may succeed later."""

    kind = Kind.LIMITED


class InternalError(PrecastError):
    """A bug of ours."""

    kind = Kind.INTERNAL


_CLASSES: dict[Kind, type[PrecastError]] = {
    cls.kind: cls
    for cls in (
        InputError,
        NotFoundError,
        ConflictError,
        UnauthenticatedError,
        DeniedError,
        UnavailableError,
        LimitedError,
        InternalError,
    )
}

_declared: dict[str, "Issue"] = {}


class Issue:
    """One declared error. Text and hint are format strings; callers give their fields to `error()` by name."""

    def __init__(self, code: str, kind: Kind, text: str, hint: str = "") -> None:
        if code in _declared:
            raise ValueError(f"issue code {code} is declared twice")
        self.fields = frozenset(_fields(code, text) + _fields(code, hint))
        _declared[code] = self
        self.code = code
        self.kind = kind
        self.text = text
        self.hint = hint

    def error(self, source: Source | None = None, span: Span | None = None, /, **values: object) -> PrecastError:
        """The error to raise. The values must be exactly the fields of text and hint, so that no message is incomplete."""
        if values.keys() != self.fields:
            raise TypeError(f"{self.code} takes {sorted(self.fields)}, got {sorted(values)}")
        return _CLASSES[self.kind](self.code, self.text.format(**values), self.hint.format(**values), source, span)

    def matches(self, error: BaseException) -> bool:
        return isinstance(error, PrecastError) and error.code == self.code


def _fields(code: str, text: str) -> list[str]:
    """The names of the fields. Anything else in braces would only fail when the error is raised, so it fails here."""
    parts = [(name, spec or "") for _, name, spec, _ in string.Formatter().parse(text) if name is not None]
    for name, spec in parts:
        if not name.isidentifier() or "{" in spec:
            raise ValueError(f"issue {code}: {{{name}}} is not a plain name")
    return [name for name, _ in parts]


def declared_issues() -> list[Issue]:
    """Every issue declared by the modules loaded so far, by code."""
    return [_declared[code] for code in sorted(_declared)]
