"""Says why an expression has no value, without repeating the data: yaql's own messages contain all of it."""

from typing import Final

from yaql.language import exceptions  # type: ignore[import-untyped]

from precast.base.errors import PrecastError
from precast.services.plans.evaluation.messages import Exceeded, Failed, Invalid, Reply
from precast.services.plans.evaluation.terms import Unknown

MAX_CHARS: Final = 200
_PROPERTY: Final = "#property#"


class OutOfTime(BaseException):
    """An expression has used its processor time. No expression can catch this."""


def explain(error: Exception | OutOfTime) -> Reply:
    """The reply for an error of an evaluation."""
    if isinstance(error, exceptions.WrappedException):
        error = error.wrapped
    limit = _find_limit(error)
    if limit is not None:
        return limit
    if isinstance(error, exceptions.YaqlParsingException):
        return Invalid(_explain_parsing(error))
    if isinstance(error, Unknown):
        return Invalid(str(error))
    if isinstance(error, exceptions.YaqlException):
        return Failed(_explain_yaql(error))
    if isinstance(error, KeyError):
        return Failed(f"there is no key {str(error.args[0])[:MAX_CHARS]!r}")
    if isinstance(error, PrecastError):
        return Failed(error.message[:MAX_CHARS])
    return Failed((str(error) or type(error).__name__)[:MAX_CHARS])


def _find_limit(error: BaseException) -> Exceeded | None:
    if isinstance(error, OutOfTime):
        return Exceeded("time")
    if isinstance(error, MemoryError | exceptions.MemoryQuotaExceededException):
        return Exceeded("memory")
    if isinstance(error, exceptions.CollectionTooLargeException):
        return Exceeded("items")
    return Exceeded("depth") if isinstance(error, RecursionError) else None


def _explain_yaql(error: exceptions.YaqlException) -> str:
    # What follows is the value that the method was called on.
    text = str(error).partition(" for receiver ")[0]
    name = text.partition(_PROPERTY)[2].rstrip('"')
    return f"what has no keys is asked for the key {name!r}"[:MAX_CHARS] if name else text[:MAX_CHARS]


def _explain_parsing(error: exceptions.YaqlParsingException) -> str:
    if error.position is None:
        return "it ends too early"
    return f"{str(error.value)[:40]!r} is not expected at character {error.position + 1}"
