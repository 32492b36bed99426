"""The arguments of `new`, read in turn by their names, so that an error can name the wrong one."""

from collections.abc import Iterable

from precast.lang.datatypes import mismatch
from precast.lang.datatypes.base import Type
from precast.lang.datatypes.inference import infer_reduced
from precast.lang.issues import types as issues
from precast.lang.values.base import Hash, Value

_MISSING = object()


class Arguments:
    """Positional arguments of `T.new`; a conversion reads those it knows and then calls `done`."""

    def __init__(self, kind: str, given: Iterable[Value]) -> None:
        self.kind = kind
        self.given = list(given)
        self.at = 0

    def spread(self, first: str, names: tuple[str, ...]) -> None:
        """Replace a single Hash that has the key `first` and no keys other than `names` by the arguments it names."""
        if len(self.given) != 1 or not isinstance(self.given[0], Hash):
            return
        named = self.given[0]
        if first in named and all(key in names for key in named):
            self.given = [named.get(name, _MISSING) for name in names]

    def take(self, name: str, default: Value = _MISSING) -> Value:
        """The next argument. Raises LANG-281 if it is missing and has no default."""
        value = self.given[self.at] if self.at < len(self.given) else _MISSING
        self.at += 1
        if value is not _MISSING:
            return value
        if default is _MISSING:
            raise self.wrong(f"expects a value for parameter '{name}', got none")
        return default

    def take_typed(self, name: str, wanted: Type, default: Value = _MISSING) -> Value:
        """The next argument, if it has the wanted type. Raises LANG-281 if it does not."""
        is_given = self.at < len(self.given) and self.given[self.at] is not _MISSING
        value = self.take(name, default)
        if is_given and not wanted.check(value):
            raise self.wrong(mismatch.describe(f"parameter '{name}'", wanted, value))
        return value

    def take_boolean(self, name: str) -> bool:
        value = self.take(name, False)
        if not isinstance(value, bool):
            raise self.wrong(f"parameter '{name}' expects a Boolean value, got {infer_reduced(value).generalized()}")
        return value

    def done(self) -> None:
        """Raises LANG-281 if there are more arguments than were read."""
        if len(self.given) > self.at:
            raise self.wrong(f"expects at most {self.at} argument{'s' if self.at != 1 else ''}, got {len(self.given)}")

    def wrong(self, reason: str) -> Exception:
        return issues.WRONG_NEW_ARGUMENTS.error(kind=self.kind, reason=reason)


def not_convertible(value: Value, kind: str) -> Exception:
    return issues.NOT_CONVERTIBLE.error(what=f"Value of type {infer_reduced(value).generalized().text}", kind=kind)
