"""The queries of collectors: as a test of the resources of this catalog, and as data for a question about the exports of other nodes."""

from typing import TYPE_CHECKING, Any, Protocol

from precast.lang import datatypes
from precast.lang.compiler.resources import Resource
from precast.lang.compiler.serialization import parameter_data
from precast.lang.issues import compiler as issues
from precast.lang.values.base import equals

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation


class Query(Protocol):
    """A condition on resources."""

    def matches(self, resource: Resource) -> bool:
        """Whether a resource of this catalog matches."""

    def data(self) -> Any:
        """The query as `lang/exports.py` describes it. Raises LANG-780 for a value that exports cannot be compared with."""


class Everything:
    """The query of a collector that has no query of its own."""

    def matches(self, resource: Resource) -> bool:
        return True

    def data(self) -> Any:
        return None


class Both:
    def __init__(self, left: Query, right: Query) -> None:
        self._left, self._right = left, right

    def matches(self, resource: Resource) -> bool:
        return self._left.matches(resource) and self._right.matches(resource)

    def data(self) -> Any:
        return ("and", self._left.data(), self._right.data())


class Either:
    def __init__(self, left: Query, right: Query) -> None:
        self._left, self._right = left, right

    def matches(self, resource: Resource) -> bool:
        return self._left.matches(resource) or self._right.matches(resource)

    def data(self) -> Any:
        return ("or", self._left.data(), self._right.data())


class ParameterComparison:
    """`name == value`: an array matches if an element equals the value; `tag` matches tags. `!=` compares the parameter itself."""

    def __init__(self, compilation: "Compilation", name: str, value: Any, must_equal: bool) -> None:
        self._compilation, self._name, self._value, self._must_equal = compilation, name, value, must_equal

    def matches(self, resource: Resource) -> bool:
        value, name = self._value, self._name
        actual = resource.title if name == "title" else self._compilation.concrete(resource.value(name))
        if not self._must_equal:
            return not equals(actual, value)
        if name == "tag":
            return any(tag in resource.all_tags() for tag in _tags(value))
        if isinstance(actual, tuple) and not isinstance(value, tuple):
            return any(equals(item, value) for item in actual)
        return equals(actual, value)

    def data(self) -> Any:
        sign = "=" if self._must_equal else "!="
        if self._name == "tag":
            first, *others = ((sign, "tag", tag) for tag in _tags(self._value))
            query: Any = first
            for other in others:
                query = ("or" if self._must_equal else "and", query, other)
            return query
        field = "title" if self._name == "title" else ("parameter", self._name)
        return (sign, field, _plain(self._value))


def _tags(value: Any) -> list[str]:
    return [str(tag).lower() for tag in value] if isinstance(value, tuple) and value else [str(value).lower()]


def _plain(value: Any) -> Any:
    """A value as parameter data that can be part of a question: text, number, Boolean, undef, or an array of these."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    data = parameter_data(value)
    if isinstance(data, dict):
        raise issues.QUERY_VALUE.error(got=datatypes.infer(value).generalized())
    return data
