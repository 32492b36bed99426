"""The expressions of templates: a subset of Jinja's, evaluated while they are parsed, within limits.

Values are plain data without access to Python's objects: an attribute is a key of a mapping, and the methods are a closed list. Every
step is counted and every value bounded, so that a template terminates.
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
    call_function,
    compare,
    get_member,
    slice_value,
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


def tokenize(text: str) -> list[Token]:
    """Split an expression into tokens. Raises TemplateError."""
    tokens: list[Token] = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise TemplateError(f"{text[at : at + 10].strip()!r} is not understood")
        tokens.append(Token(match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return tokens


class Budget:
    """The steps that a template may still take."""

    def __init__(self) -> None:
        self._steps = MAX_STEPS

    def spend(self, steps: int = 1) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise TemplateError(f"it needs more than {MAX_STEPS} steps")

    @staticmethod
    def check_size(value: Any) -> Any:
        if isinstance(value, str | list) and len(value) > MAX_LENGTH:
            raise TemplateError(f"a value is longer than {MAX_LENGTH}")
        if isinstance(value, int) and value.bit_length() > 256:
            raise TemplateError("a number is too large")
        return value


class Expression:
    """One expression over some variables. The branch of a condition that does not apply is parsed but not evaluated."""

    def __init__(self, tokens: list[Token], variables: Mapping[str, Any], budget: Budget) -> None:
        self._tokens = tokens
        self._at = 0
        self._variables = variables
        self._budget = budget
        self._depth = 0
        self._ignored_depth = 0

    def evaluate(self) -> Any:
        """Evaluate the whole expression. Raises TemplateError."""
        value = self.value()
        if self._at < len(self._tokens):
            raise TemplateError(f"{self._tokens[self._at].value!r} is not expected here")
        return value

    def value(self) -> Any:
        self._depth += 1
        if self._depth > 50:
            raise TemplateError("it is nested too deeply")
        value = self._read_or()
        while self._take("if"):
            condition = self._read_or()
            other = self.value() if self._take("else") else Missing("else")
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

    def _is_next(self, *values: str) -> bool:
        return (
            self._at < len(self._tokens)
            and self._tokens[self._at].kind != "text"
            and self._tokens[self._at].value in values
        )

    def _take(self, *values: str) -> str:
        return self._next().value if self._is_next(*values) else ""

    def _require(self, value: str) -> None:
        if not self._take(value):
            raise TemplateError(f"{value!r} is missing")

    # From the weakest operator to the strongest

    def _read_or(self) -> Any:
        value = self._read_and()
        while self._take("or"):
            other = self._read_operand(self._read_and, bool(value))
            value = value or other
        return value

    def _read_and(self) -> Any:
        value = self._read_not()
        while self._take("and"):
            other = self._read_operand(self._read_not, not value)
            value = value and other
        return value

    def _read_operand(self, read: Callable[[], Any], is_idle: bool) -> Any:
        """Read an operand; with `is_idle` it is only parsed, and cannot fail."""
        self._ignored_depth += is_idle
        value = read()
        self._ignored_depth -= is_idle
        return value

    def _compute(self, do: Callable[..., Any], *arguments: Any) -> Any:
        """Compute an operation; the result is missing where the operand is only parsed."""
        return Missing("") if self._ignored_depth else self._budget.check_size(do(*arguments))

    def _read_not(self) -> Any:
        return not self._read_not() if self._take("not") else self._read_comparison()

    def _read_comparison(self) -> Any:
        value = self._read_sum()
        while self._is_next("==", "!=", "<", ">", "<=", ">=", "in", "not", "is"):
            sign = self._next().value
            if sign == "is":
                value = self._read_test(value)
                continue
            if sign == "not":
                self._require("in")
            value = self._compute(compare, sign, value, self._read_sum())
        return value

    def _read_test(self, value: Any) -> bool:
        is_not = bool(self._take("not"))
        name = self._next("name").value
        test = TESTS.get(name)
        if test is None:
            raise TemplateError(f"there is no test {name}")
        return test(value) is not is_not

    def _read_sum(self) -> Any:
        value = self._read_product()
        while sign := self._take("+", "-", "~"):
            value = self._compute(calculate, sign, value, self._read_product())
        return value

    def _read_product(self) -> Any:
        value = self._read_unary()
        while sign := self._take("*", "/", "//", "%"):
            other = self._read_unary()
            if sign == "*" and (isinstance(value, str | list) or isinstance(other, str | list)):
                raise TemplateError("only numbers are multiplied")
            value = self._compute(calculate, sign, value, other)
        return value

    def _read_unary(self) -> Any:
        if self._take("-"):
            return self._compute(calculate, "-", 0, self._read_unary())
        return self._read_filters(self._read_postfix(self._read_primary()))

    def _read_filters(self, value: Any) -> Any:
        while self._take("|"):
            name = self._next("name").value
            arguments = self._read_arguments() if self._is_next("(") else []
            function = FILTERS.get(name)
            if function is None:
                raise TemplateError(f"there is no filter {name}")
            value = self._compute(call_function, name, function, [value, *arguments])
        return value

    def _read_postfix(self, value: Any) -> Any:
        while True:
            if self._take("."):
                token = self._next()
                if self._is_next("("):
                    value = self._read_method(value, token.value)
                else:
                    value = get_member(value, int(token.value) if token.kind == "number" else token.value)
            elif self._take("["):
                value = self._read_subscript(value)
            else:
                return value

    def _read_subscript(self, value: Any) -> Any:
        start = None if self._is_next(":") else self.value()
        if self._take(":"):
            end = None if self._is_next("]") else self.value()
            self._require("]")
            return self._compute(slice_value, value, start, end)
        self._require("]")
        return get_member(value, start)

    def _read_method(self, value: Any, name: str) -> Any:
        arguments = self._read_arguments()
        method = METHODS.get(name)
        if method is not None and isinstance(value, Missing):
            return Missing(f"{value.name}.{name}()")
        if method is None or not (isinstance(value, method[0]) or self._ignored_depth):
            raise TemplateError(f"there is no method {name} here")
        return self._compute(call_function, name, method[1], [value, *arguments])

    def _read_arguments(self) -> list[Any]:
        self._require("(")
        return self._read_items(")")

    def _read_items(self, end: str) -> list[Any]:
        items: list[Any] = []
        while not self._take(end):
            if items:
                self._require(",")
                if self._take(end):
                    break
            items.append(self.value())
        return items

    def _read_primary(self) -> Any:
        token = self._next()
        if token.kind == "number":
            return float(token.value) if "." in token.value else self._budget.check_size(int(token.value[:100]))
        if token.kind == "text":
            return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), token.value[1:-1])
        if token.value == "(":
            value = self.value()
            if self._is_next(","):
                self._require(",")
                return [value, *self._read_items(")")]
            self._require(")")
            return value
        if token.value == "[":
            return self._read_items("]")
        if token.value == "{":
            return self._read_mapping()
        if token.kind != "name":
            raise TemplateError(f"{token.value!r} is not expected here")
        return self._read_name(token.value)

    def _read_mapping(self) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while not self._take("}"):
            if mapping:
                self._require(",")
            key = self.value()
            self._require(":")
            mapping[str(key)] = self.value()
        return mapping

    def _read_name(self, name: str) -> Any:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name == "range" and self._is_next("("):
            numbers = self._read_arguments()
            if not numbers or not all(type(each) is int for each in numbers) or len(numbers) > 3:
                raise TemplateError("range takes one to three numbers")
            counted = call_function("range", range, numbers)
            self._budget.spend(len(counted))
            return list(counted)
        return self._variables.get(name, Missing(name))
