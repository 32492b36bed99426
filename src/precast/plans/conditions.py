"""Fuel's older conditions: `settings:storage.ceph.value == true and not 'vcenter' in cluster:modes`.

A condition is parsed once and evaluated over the data of each node. Both take time linear in the text, so a server does it itself;
conditions in YAQL are evaluated in a process that can be killed.

`and` binds closer than `or`, comparisons closer than `and`, `not` closer than these, as in Fuel: `not a == b` is `(not a) == b`. `in` binds
closest: Fuel reads `not 'x' in b` as `(not 'x') in b`, which nobody means.

A path is looked up in the node's data: `settings:a.b` is `a.b` there, and `cluster:mode` is `cluster.mode`. Fuel writes conditions for its
settings as they are edited, and evaluates them over the data of nodes, where a setting stands without `value`, and without the sections
`additional_components` and `common`; so a path that does not exist is looked up without these. One that does not exist either is an error,
or null if it ends with `?`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.plans import issues

MAX_CHARS: Final = 10_000
MAX_TERMS: Final = 200
MAX_DEPTH: Final = 50

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<path>\w*:[\w.\-]+\??)|(?P<number>-?\d+\b)|(?P<text>"[^"]*"|'[^']*')|(?P<sign>==|!=|\(|\))|(?P<word>\w+))""",
    re.ASCII,
)
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
# The operators of two operands, from the loosest to the closest.
_LEVELS: Final = (("or",), ("and",), ("==", "!="))
_MISSING: Final = object()


class _Token(NamedTuple):
    kind: str
    text: str
    span: Span


class Constant(NamedTuple):
    """A number, a text, true, false or null."""

    span: Span
    value: str | int | bool | None


class Path(NamedTuple):
    """A value of the node's data."""

    span: Span
    keys: tuple[str, ...]
    is_optional: bool


class Not(NamedTuple):
    """The negation of a term."""

    span: Span
    term: "Term"


class Operation(NamedTuple):
    """Two terms and an operator."""

    span: Span
    operator: str
    left: "Term"
    right: "Term"


Term = Constant | Path | Not | Operation


class LegacyCondition(NamedTuple):
    """A condition that has been parsed."""

    source: Source
    term: Term

    def evaluate(self, data: Mapping[str, Any]) -> bool:
        """Whether the condition holds for a node's data. Raises InputError PLAN-061, with the place in the condition."""
        return bool(_evaluate(self.term, data, self.source))

    def list_paths(self) -> list[tuple[str, ...]]:
        """The paths that the condition names, in their order."""
        return list(dict.fromkeys(_list_paths(self.term)))


def parse_condition(text: str, name: str = "condition") -> LegacyCondition:
    """Parse a condition; `name` is for messages. Raises InputError PLAN-060, with the place in the condition."""
    return _Parser(Source(name, text)).parse()


class _Parser:
    def __init__(self, source: Source) -> None:
        self._source = source
        if len(source.text) > MAX_CHARS:
            raise self._refuse(f"it has more than {MAX_CHARS} characters", Span(0, 0))
        self._tokens = self._split()
        self._at = 0
        self._depth = 0
        self._terms = 0

    def parse(self) -> LegacyCondition:
        term = self._level(0)
        token = self._tokens[self._at]
        if token.kind != "end":
            raise self._unexpected(token, "an operator")
        return LegacyCondition(self._source, term)

    def _split(self) -> list[_Token]:
        text = self._source.text
        tokens, at, end = [], 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                start = at + len(text[at:]) - len(text[at:].lstrip())
                raise self._refuse(f"{text[start]!r} is not expected here", Span(start, start + 1))
            tokens.append(_Token(match.lastgroup, match[match.lastgroup], Span(*match.span(match.lastgroup))))
            at = match.end()
        return [*tokens, _Token("end", "", Span(end, end))]

    def _level(self, number: int) -> Term:
        if number == len(_LEVELS):
            return self._negation()
        left = self._level(number + 1)
        while (token := self._take(*_LEVELS[number])) is not None:
            left = Operation(token.span, token.text, left, self._level(number + 1))
        return left

    def _negation(self) -> Term:
        if (token := self._take("not")) is not None:
            return Not(token.span, self._nested(token, self._negation))
        left = self._operand()
        while (token := self._take("in")) is not None:
            left = Operation(token.span, "in", left, self._operand())
        return left

    def _take(self, *texts: str) -> _Token | None:
        """The next token, if it is one of these operators or signs."""
        token = self._tokens[self._at]
        if token.kind not in ("word", "sign") or token.text not in texts:
            return None
        self._at += 1
        return token

    def _nested(self, token: _Token, parse: Callable[[], Term]) -> Term:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._refuse(f"it is nested deeper than {MAX_DEPTH} levels", token.span)
        term = parse()
        self._depth -= 1
        return term

    def _operand(self) -> Term:
        self._terms += 1
        token = self._tokens[self._at]
        if self._terms > MAX_TERMS:
            raise self._refuse(f"it has more than {MAX_TERMS} terms", token.span)
        if self._take("(") is not None:
            term = self._nested(token, lambda: self._level(0))
            if self._take(")") is None:
                raise self._unexpected(self._tokens[self._at], "`)`")
            return term
        value = self._value(token)
        self._at += 1
        return value

    def _value(self, token: _Token) -> Term:
        if token.kind == "number":
            return Constant(token.span, int(token.text))
        if token.kind == "text":
            return Constant(token.span, token.text[1:-1])
        if token.kind == "word" and token.text in _CONSTANTS:
            return Constant(token.span, _CONSTANTS[token.text])
        if token.kind == "path":
            model, _, path = token.text.removesuffix("?").partition(":")
            keys = tuple(path.split("."))
            return Path(token.span, keys if model in ("settings", "") else (model, *keys), token.text.endswith("?"))
        raise self._unexpected(token, "a value, a path such as settings:a.b, `not` or `(`")

    def _unexpected(self, token: _Token, wanted: str) -> PrecastError:
        found = "its end" if token.kind == "end" else repr(token.text)
        return self._refuse(f"{wanted} is expected instead of {found}", token.span)

    def _refuse(self, reason: str, span: Span) -> PrecastError:
        return issues.BAD_CONDITION.error(self._source, span, what=self._source.path, reason=reason)


def _evaluate(term: Term, data: Mapping[str, Any], source: Source) -> Any:
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Path):
        return _look_up(term, data, source)
    if isinstance(term, Not):
        return not _evaluate(term.term, data, source)
    left = _evaluate(term.left, data, source)
    if term.operator == "or":
        return left or _evaluate(term.right, data, source)
    if term.operator == "and":
        return left and _evaluate(term.right, data, source)
    right = _evaluate(term.right, data, source)
    if term.operator == "in":
        return _contains(right, left, term, source)
    return _is_same(left, right) == (term.operator == "==")


def _list_paths(term: Term) -> list[tuple[str, ...]]:
    match term:
        case Path():
            return [term.keys]
        case Not():
            return _list_paths(term.term)
        case Operation():
            return [*_list_paths(term.left), *_list_paths(term.right)]
        case _:
            return []


def _look_up(path: Path, data: Mapping[str, Any], source: Source) -> Any:
    for keys in _ways(path.keys):
        value = _find(keys, data)
        if value is not _MISSING:
            return value
    if path.is_optional:
        return None
    reason = f"the data of the node has no value at {'.'.join(path.keys)}"
    raise issues.BAD_CONDITION_VALUE.error(source, path.span, what=source.path, reason=reason)


def _ways(keys: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The places where a setting may stand, in the order in which they are tried."""
    plain = keys[:-1] if len(keys) > 1 and keys[-1] == "value" else keys
    if len(plain) > 1 and plain[0] == "additional_components":
        return [keys, plain, (*plain[1:], "enabled")]
    return [keys, plain, plain[1:]] if len(plain) > 1 and plain[0] == "common" else [keys, plain]


def _find(keys: Sequence[str], data: Any) -> Any:
    for key in keys:
        if not isinstance(data, Mapping) or key not in data:
            return _MISSING
        data = data[key]
    return data


def _contains(container: Any, item: Any, term: Operation, source: Source) -> bool:
    if isinstance(container, str) and isinstance(item, str):
        return item in container
    if isinstance(container, list | tuple | Mapping):
        return any(_is_same(item, other) for other in container)
    reason = "the right side of `in` must be a list, a mapping, or a text that is searched for a text"
    raise issues.BAD_CONDITION_VALUE.error(source, term.span, what=source.path, reason=reason)


def _is_same(left: Any, right: Any) -> bool:
    """Whether two values are equal; true is not 1."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)
