"""`%{…}` in data and in hiera.yaml: variables of the scope, and in data also other keys.

A text is taken apart once. An identity fact that is only interpolated stays open, here as everywhere.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from precast.lang.hiera import issues
from precast.lang.hiera.invocation import Invocation
from precast.lang.hiera.keys import split
from precast.lang.hiera.variables import value_of
from precast.lang.ruby.text import ruby_text
from precast.lang.scope import MISSING
from precast.lang.values.core import Hash, Unknown
from precast.lang.values.unknowns import STRINGS, Hole, join, stays_open

if TYPE_CHECKING:
    from precast.lang.hiera.lookups import Lookups

_EXPRESSION: Final = re.compile(r"%\{([^}]*)\}")
_METHOD: Final = re.compile(r"""^(\w+)\((?:"([^"]+)"|'([^']+)')\)$""")
_NOTHING: Final = frozenset(("", "::", '""', "''", '"::"', "'::'"))
ROOTS: Final = frozenset(("facts", "trusted"))
_LOOKUPS: Final = frozenset(("lookup", "hiera", "alias"))


class Expression(NamedTuple):
    """What stands between the braces: a method with its argument, or the variable that `scope` names."""

    method: str
    argument: str
    is_variable: bool


class Template(NamedTuple):
    """A text in its parts. `alias` is the key if the whole text is one."""

    text: str
    parts: tuple[str | Expression, ...]


@lru_cache(maxsize=65_536)
def template(text: str) -> Template:
    parts: list[str | Expression] = []
    end = 0
    for found in _EXPRESSION.finditer(text):
        if found.start() > end:
            parts.append(text[end : found.start()])
        end = found.end()
        expression = found[1].strip()
        if expression not in _NOTHING:
            parts.append(_parsed(expression))
    if end < len(text):
        parts.append(text[end:])
    return Template(text, tuple(parts))


def _parsed(text: str) -> Expression:
    call = _METHOD.match(text)
    return Expression("scope", text, True) if call is None else Expression(call[1], call[2] or call[3], False)


class Interpolator:
    """Interpolates for one look-up. Without methods, as in hiera.yaml, only variables count; `local` stands before all others.

    In a place every fact stays open that is a string: what matters is the file that is there, not the fact.
    """

    def __init__(
        self,
        lookups: "Lookups",
        invocation: Invocation,
        *,
        methods: bool,
        local: Mapping[str, Any] | None = None,
        is_place: bool = False,
    ) -> None:
        self._is_place = is_place
        self._lookups = lookups
        self._invocation = invocation
        self._methods = methods
        self._local = local or {}

    def with_local(self, local: Mapping[str, Any]) -> "Interpolator":
        return Interpolator(
            self._lookups, self._invocation, methods=self._methods, local=local, is_place=self._is_place
        )

    def value(self, value: Any) -> Any:
        """The value with every text in it interpolated. Raises HIERA-031 to HIERA-037."""
        if isinstance(value, str):
            return self.text(value) if "%{" in value else value
        if isinstance(value, tuple):
            return tuple(map(self.value, value))
        if isinstance(value, Hash):
            return Hash.of((self.value(key), self.value(item)) for key, item in value.items())
        return value

    def text(self, text: str) -> Any:
        found = template(text)
        explainer = self._invocation.explainer
        if explainer is None:
            return self._joined(found)
        with explainer.within(f'Interpolation on "{text}"'):
            return self._joined(found)

    def _joined(self, found: Template) -> Any:
        pieces: list[Any] = []
        for part in found.parts:
            if isinstance(part, str):
                pieces.append(part)
                continue
            if part.method == "alias" and not part.is_variable:
                return self._alias(part, found)
            pieces.append(self._piece(part, found.text))
        return join(pieces)

    def _alias(self, part: Expression, found: Template) -> Any:
        if not self._methods:
            raise issues.METHOD_NOT_ALLOWED.error()
        if len(found.parts) > 1 or _EXPRESSION.fullmatch(found.text) is None:
            raise issues.ALIAS_NOT_WHOLE.error()
        return self._lookups.referred(self._invocation, part.argument)

    def _piece(self, part: Expression, text: str) -> Any:
        if not part.is_variable and not self._methods:
            raise issues.METHOD_NOT_ALLOWED.error()
        value = self._found(part, text)
        if type(value) is not str or "%{" in value:
            name = f"scope:{part.argument}" if part.method == "scope" else part.argument
            with self._lookups.checked(name):
                value = self.value(value)
        if isinstance(value, STRINGS):
            return value
        if isinstance(value, Unknown) or stays_open(value):
            value = self._lookups.host.concrete(value, None)
        return ruby_text(value)

    def _found(self, part: Expression, text: str) -> Any:
        if part.method == "scope":
            return self.variable(part.argument, text)
        if part.method == "literal":
            return part.argument
        if part.method in _LOOKUPS:
            return self._lookups.referred(self._invocation, part.argument)
        raise issues.UNKNOWN_METHOD.error(name=part.method)

    def variable(self, name: str, text: str) -> Any:
        """A variable, or what lies below it; undef where there is none."""
        segments = split(name)
        if segments is None:
            raise issues.BAD_INTERPOLATION.error(text=text)
        root, below = str(segments[0]), segments[1:]
        host = self._lookups.host
        is_fact = root in ROOTS and bool(below) and root not in self._invocation.overrides
        if self._is_place and is_fact and host.fact_kind(root, below) == "string":
            host.has_unknowns = True
            return Hole(root, below)
        value = value_of(host, self._invocation, name, segments, self._local)
        return None if value is MISSING else value
