"""`%{…}` in data and in hiera.yaml: variables of the scope, and in data also other keys.

A string is parsed once. An identity fact that is only interpolated stays a hole, as everywhere.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from precast.lang.hiera import issues
from precast.lang.hiera.invocation import Invocation
from precast.lang.hiera.keys import split
from precast.lang.hiera.variables import value_of
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.scope import MISSING
from precast.lang.values.base import Hash, Unknown
from precast.lang.values.unknowns import STRINGS, Hole, has_unknown_text, join

if TYPE_CHECKING:
    from precast.lang.hiera.lookups import Lookups

_EXPRESSION: Final = re.compile(r"%\{([^}]*)\}")
_METHOD: Final = re.compile(r"""^(\w+)\((?:"([^"]+)"|'([^']+)')\)$""")
_NOTHING: Final = frozenset(("", "::", '""', "''", '"::"', "'::'"))
ROOTS: Final = frozenset(("facts", "trusted"))
_LOOKUPS: Final = frozenset(("lookup", "hiera", "alias"))


class Expression(NamedTuple):
    """The expression between the braces: a method with its argument, or a variable, for which the method is `scope`."""

    method: str
    argument: str
    is_variable: bool


class Template(NamedTuple):
    """A string in its parts."""

    text: str
    parts: tuple[str | Expression, ...]


@lru_cache(maxsize=65_536)
def parse_template(text: str) -> Template:
    parts: list[str | Expression] = []
    end = 0
    for match in _EXPRESSION.finditer(text):
        if match.start() > end:
            parts.append(text[end : match.start()])
        end = match.end()
        expression = match[1].strip()
        if expression not in _NOTHING:
            parts.append(_parse_expression(expression))
    if end < len(text):
        parts.append(text[end:])
    return Template(text, tuple(parts))


def variables_in(value: Any) -> tuple[str, ...]:
    """The variables that strings of a hiera.yaml name, without what is below them."""
    if isinstance(value, str):
        parts = parse_template(value).parts if "%{" in value else ()
        names = (part.argument for part in parts if isinstance(part, Expression) and part.is_variable)
        return tuple(str((split(name) or ("",))[0]) for name in names)
    if isinstance(value, tuple):
        return tuple(name for item in value for name in variables_in(item))
    if isinstance(value, Hash):
        return tuple(name for pair in value.items() for item in pair for name in variables_in(item))
    return ()


def _parse_expression(text: str) -> Expression:
    call = _METHOD.match(text)
    return Expression("scope", text, True) if call is None else Expression(call[1], call[2] or call[3], False)


class Interpolator:
    """Interpolates for one lookup. Without `methods`, as in hiera.yaml, only variables are allowed; `local` precedes the scope.

    With `is_location`, every fact that is a string stays a hole: the file at the location matters, not the fact.
    """

    def __init__(
        self,
        lookups: "Lookups",
        invocation: Invocation,
        *,
        methods: bool,
        local: Mapping[str, Any] | None = None,
        is_location: bool = False,
    ) -> None:
        self._is_location = is_location
        self._lookups = lookups
        self._invocation = invocation
        self._methods = methods
        self._local = local or {}

    def with_local(self, local: Mapping[str, Any]) -> "Interpolator":
        return Interpolator(
            self._lookups, self._invocation, methods=self._methods, local=local, is_location=self._is_location
        )

    def value(self, value: Any) -> Any:
        """The value with all strings in it interpolated. Raises HIERA-031 to HIERA-037."""
        if isinstance(value, str):
            return self.text(value) if "%{" in value else value
        if isinstance(value, tuple):
            return tuple(map(self.value, value))
        if isinstance(value, Hash):
            return Hash.of((self.value(key), self.value(item)) for key, item in value.items())
        return value

    def text(self, text: str) -> Any:
        parsed = parse_template(text)
        explainer = self._invocation.explainer
        if explainer is None:
            return self._join(parsed)
        with explainer.within(f'Interpolation on "{text}"'):
            return self._join(parsed)

    def _join(self, parsed: Template) -> Any:
        pieces: list[Any] = []
        for part in parsed.parts:
            if isinstance(part, str):
                pieces.append(part)
                continue
            if part.method == "alias" and not part.is_variable:
                return self._alias(part, parsed)
            pieces.append(self._piece(part, parsed.text))
        return join(pieces)

    def _alias(self, part: Expression, parsed: Template) -> Any:
        if not self._methods:
            raise issues.METHOD_NOT_ALLOWED.error()
        if len(parsed.parts) > 1 or _EXPRESSION.fullmatch(parsed.text) is None:
            raise issues.ALIAS_NOT_WHOLE.error()
        return self._lookups.find_referenced(self._invocation, part.argument)

    def _piece(self, part: Expression, text: str) -> Any:
        if not part.is_variable and not self._methods:
            raise issues.METHOD_NOT_ALLOWED.error()
        value = self._evaluate(part, text)
        if type(value) is not str or "%{" in value:
            name = f"scope:{part.argument}" if part.method == "scope" else part.argument
            with self._lookups.guarded(name):
                value = self.value(value)
        if isinstance(value, STRINGS):
            return value
        if isinstance(value, Unknown) or has_unknown_text(value):
            value = self._lookups.host.concrete(value, None)
        return ruby_text(value)

    def _evaluate(self, part: Expression, text: str) -> Any:
        if part.method == "scope":
            return self.variable(part.argument, text)
        if part.method == "literal":
            return part.argument
        if part.method in _LOOKUPS:
            return self._lookups.find_referenced(self._invocation, part.argument)
        raise issues.UNKNOWN_METHOD.error(name=part.method)

    def variable(self, name: str, text: str) -> Any:
        """A variable, or the value below it; undef if it does not exist."""
        segments = split(name)
        if segments is None:
            raise issues.BAD_INTERPOLATION.error(text=text)
        root, below = str(segments[0]), segments[1:]
        host = self._lookups.host
        is_fact = root in ROOTS and bool(below) and root not in self._invocation.overrides
        if self._is_location and is_fact and host.fact_kind(root, below) == "string":
            host.has_unknowns = True
            return Hole(root, below)
        value = value_of(host, self._invocation, name, segments, self._local)
        return None if value is MISSING else value
