"""The expressions of templates: a small part of Jinja's, evaluated while they are parsed, within limits.

Values are plain data, and nothing of Python can be reached from them: an attribute is a key of a mapping, and the methods are a closed
list. Every step is counted, and nothing grows beyond a bound, so that a template ends.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from precast.boot.userdata.expression_values import (
    FILTERS,
    MAX_LENGTH,
    METHODS,
    TESTS,
    Missing,
    TemplateError,
    calculate,
    called,
    compare,
    member,
    part,
)

MAX_STEPS: Final = 200_000

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>\d+(?:\.\d+)?)
  | (?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>==|!=|<=|>=|//|\*\*|[-+*/%~<>()\[\]{}.,:|=])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_CONSTANTS = {"true": True, "True": True, "false": False, "False": False, "none": None, "None": None}


class Token(NamedTuple):
    kind: str
    value: str


def tokens_of(text: str) -> list[Token]:
    """The tokens of an expression. Raises TemplateError."""
    found: list[Token] = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise TemplateError(f"{text[at : at + 10].strip()!r} is not understood")
        found.append(Token(match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


class Budget:
    """What a template may still do."""

    def __init__(self) -> None:
        self._steps = MAX_STEPS

    def spend(self, steps: int = 1) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise TemplateError(f"it needs more than {MAX_STEPS} steps")

    @staticmethod
    def bounded(value: Any) -> Any:
        if isinstance(value, str | list) and len(value) > MAX_LENGTH:
            raise TemplateError(f"a value is longer than {MAX_LENGTH}")
        if isinstance(value, int) and value.bit_length() > 256:
            raise TemplateError("a number is too large")
        return value


class Expression:
    """One expression over some variables. What is not taken of a choice is read and not done."""

    def __init__(self, tokens: list[Token], variables: Mapping[str, Any], budget: Budget) -> None:
        self._tokens = tokens
        self._at = 0
        self._variables = variables
        self._budget = budget
        self._depth = 0
        self._idle = 0

    def whole(self) -> Any:
        """The value of all of it. Raises TemplateError."""
        value = self.value()
        if self._at < len(self._tokens):
            raise TemplateError(f"{self._tokens[self._at].value!r} is not expected here")
        return value

    def value(self) -> Any:
        self._depth += 1
        if self._depth > 50:
            raise TemplateError("it is nested too deeply")
        value = self._or()
        while self._takes("if"):
            condition = self._or()
            other = self.value() if self._takes("else") else Missing("else")
            value = value if condition else other
        self._depth -= 1
        return value

    # Tokens

    def _next(self, kind: str | None = None) -> Token:
        if self._at >= len(self._tokens):
            raise TemplateError("it ends too early")
        token = self._tokens[self._at]
        if kind is not None and token.kind != kind:
            raise TemplateError(f"{token.value!r} is not expected here")
        self._at += 1
        self._budget.spend()
        return token

    def _sees(self, *values: str) -> bool:
        return (
            self._at < len(self._tokens)
            and self._tokens[self._at].kind != "text"
            and self._tokens[self._at].value in values
        )

    def _takes(self, *values: str) -> str:
        return self._next().value if self._sees(*values) else ""

    def _must(self, value: str) -> None:
        if not self._takes(value):
            raise TemplateError(f"{value!r} is missing")

    # From the weakest operator to the strongest

    def _or(self) -> Any:
        value = self._and()
        while self._takes("or"):
            other = self._idly(self._and, bool(value))
            value = value or other
        return value

    def _and(self) -> Any:
        value = self._not()
        while self._takes("and"):
            other = self._idly(self._not, not value)
            value = value and other
        return value

    def _idly(self, read: Callable[[], Any], is_idle: bool) -> Any:
        """Read an operand; if it does not count it is only read, and cannot be wrong."""
        self._idle += is_idle
        value = read()
        self._idle -= is_idle
        return value

    def _done(self, do: Callable[..., Any], *arguments: Any) -> Any:
        """What an operation gives; nothing where it does not count."""
        return Missing("") if self._idle else self._budget.bounded(do(*arguments))

    def _not(self) -> Any:
        return not self._not() if self._takes("not") else self._comparison()

    def _comparison(self) -> Any:
        value = self._sum()
        while self._sees("==", "!=", "<", ">", "<=", ">=", "in", "not", "is"):
            sign = self._next().value
            if sign == "is":
                value = self._test(value)
                continue
            if sign == "not":
                self._must("in")
            value = self._done(compare, sign, value, self._sum())
        return value

    def _test(self, value: Any) -> bool:
        is_not = bool(self._takes("not"))
        name = self._next("name").value
        test = TESTS.get(name)
        if test is None:
            raise TemplateError(f"there is no test {name}")
        return test(value) is not is_not

    def _sum(self) -> Any:
        value = self._product()
        while sign := self._takes("+", "-", "~"):
            value = self._done(calculate, sign, value, self._product())
        return value

    def _product(self) -> Any:
        value = self._unary()
        while sign := self._takes("*", "/", "//", "%"):
            other = self._unary()
            if sign == "*" and (isinstance(value, str | list) or isinstance(other, str | list)):
                raise TemplateError("only numbers are multiplied")
            value = self._done(calculate, sign, value, other)
        return value

    def _unary(self) -> Any:
        if self._takes("-"):
            return self._done(calculate, "-", 0, self._unary())
        return self._filtered(self._postfix(self._primary()))

    def _filtered(self, value: Any) -> Any:
        while self._takes("|"):
            name = self._next("name").value
            arguments = self._arguments() if self._sees("(") else []
            found = FILTERS.get(name)
            if found is None:
                raise TemplateError(f"there is no filter {name}")
            value = self._done(called, name, found, [value, *arguments])
        return value

    def _postfix(self, value: Any) -> Any:
        while True:
            if self._takes("."):
                token = self._next()
                if self._sees("("):
                    value = self._method(value, token.value)
                else:
                    value = member(value, int(token.value) if token.kind == "number" else token.value)
            elif self._takes("["):
                value = self._subscript(value)
            else:
                return value

    def _subscript(self, value: Any) -> Any:
        start = None if self._sees(":") else self.value()
        if self._takes(":"):
            end = None if self._sees("]") else self.value()
            self._must("]")
            return self._done(part, value, start, end)
        self._must("]")
        return member(value, start)

    def _method(self, value: Any, name: str) -> Any:
        arguments = self._arguments()
        found = METHODS.get(name)
        if found is not None and isinstance(value, Missing):
            return Missing(f"{value.name}.{name}()")
        if found is None or not (isinstance(value, found[0]) or self._idle):
            raise TemplateError(f"there is no method {name} here")
        return self._done(called, name, found[1], [value, *arguments])

    def _arguments(self) -> list[Any]:
        self._must("(")
        return self._items(")")

    def _items(self, end: str) -> list[Any]:
        found: list[Any] = []
        while not self._takes(end):
            if found:
                self._must(",")
                if self._takes(end):
                    break
            found.append(self.value())
        return found

    def _primary(self) -> Any:
        token = self._next()
        if token.kind == "number":
            return float(token.value) if "." in token.value else self._budget.bounded(int(token.value[:100]))
        if token.kind == "text":
            return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), token.value[1:-1])
        if token.value == "(":
            value = self.value()
            if self._sees(","):
                self._must(",")
                return [value, *self._items(")")]
            self._must(")")
            return value
        if token.value == "[":
            return self._items("]")
        if token.value == "{":
            return self._mapping()
        if token.kind != "name":
            raise TemplateError(f"{token.value!r} is not expected here")
        return self._name(token.value)

    def _mapping(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self._takes("}"):
            if found:
                self._must(",")
            key = self.value()
            self._must(":")
            found[str(key)] = self.value()
        return found

    def _name(self, name: str) -> Any:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name == "range" and self._sees("("):
            numbers = self._arguments()
            if not numbers or not all(type(each) is int for each in numbers) or len(numbers) > 3:
                raise TemplateError("range takes one to three numbers")
            counted = called("range", range, numbers)
            self._budget.spend(len(counted))
            return list(counted)
        return self._variables.get(name, Missing(name))
