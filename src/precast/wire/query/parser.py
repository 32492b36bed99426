"""Parses targets and queries: written by hand, one method for each rule of the grammar, so that every error has a span and advice.

list    = either { "," either }
either  = both { "or" both }
both    = negated { "and" negated }
negated = "not" negated | single
single  = "(" list ")" | "exists" field | field sign value | field "in" "(" value { "," value } ")" | name | glob
        | "has" reference | "has" "(" list ")"

Inside `has`, and in a query about resources, the fields are those of a resource, and a reference takes the place of a name.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence

from precast.base.errors import PrecastError
from precast.base.setting_values import InvalidValueError, read_duration
from precast.base.spans import Source, Span
from precast.wire import issues
from precast.wire.query.fields import NODES, RESOURCES, Vocabulary
from precast.wire.query.lexer import KEYWORDS, Token, tokenize
from precast.wire.query.patterns import BadPattern, Pattern
from precast.wire.query.targets import (
    And,
    Comparison,
    Existence,
    Field,
    HasResource,
    Membership,
    NodeName,
    Not,
    Or,
    ResourceReference,
    Term,
    Value,
)

COMPARISONS = ("=", "!=", "~", "!~", ">", "<", ">=", "<=")
MAX_DEPTH = 50
MAX_PARTS = 12
# Fields that are compared with a duration.
AGES = (("report", "age"), ("age",))
# How many comparisons and globs one target may contain; names are limited only by their length.
MAX_TERMS = 1000

_PART = re.compile(r"'[^']*'|\"[^\"]*\"|[^.'\"]+")
_PATH = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")
_REFERENCE = re.compile(r"((?:::)?[A-Za-z][\w]*(?:::[A-Za-z][\w]*)*)\[(.+)\]", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def parse(text: str) -> Term:
    """Parse one target. Raises InputError TARGET-001 to TARGET-004, with the span."""
    return _Parser(Source("target", text), NODES).all()


def parse_query(text: str, vocabulary: Vocabulary) -> Term:
    """Parse a query with the fields of this vocabulary. Raises as `parse` does."""
    return _Parser(Source("query", text), vocabulary).all()


def parse_field(text: str, vocabulary: Vocabulary) -> Field:
    """Parse a single field. Raises InputError TARGET-001 or TARGET-002."""
    return _Parser(Source("field", text), vocabulary).field()


class _Parser:
    """One pass over the tokens: one method for each rule of the grammar."""

    def __init__(self, source: Source, vocabulary: Vocabulary) -> None:
        self._source = source
        self._vocabulary = vocabulary
        self._tokens = tokenize(source)
        self._at = 0
        self._depth = 0
        self._terms = 0

    def all(self) -> Term:
        if self._token.kind == "end":
            raise issues.NO_TARGETS.error()
        term = self._list()
        if self._token.kind != "end":
            raise self._expected("and, or, a comma or the end")
        return term

    def field(self) -> Field:
        field = self._field(self._take_operand("a field, such as facts.os.family"))
        if self._token.kind != "end":
            raise self._expected("only one field")
        return field

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _list(self) -> Term:
        return self._joined(",", self._either)

    def _either(self) -> Term:
        return self._joined("or", self._both)

    def _both(self) -> Term:
        terms = [self._negated()]
        while self._takes("and"):
            terms.append(self._negated())
        return terms[0] if len(terms) == 1 else And(_over(terms), tuple(terms))

    def _joined(self, sign: str, part: Callable[[], Term]) -> Term:
        terms = [part()]
        while self._takes(sign):
            terms.append(part())
        return terms[0] if len(terms) == 1 else Or(_over(terms), tuple(terms))

    def _negated(self) -> Term:
        start = self._token.span.start
        if not self._takes("not"):
            return self._single()
        with self._deeper():
            term = self._negated()
        return Not(Span(start, term.span.end), term)

    def _single(self) -> Term:
        if self._takes("("):
            with self._deeper():
                term = self._list()
            if not self._takes(")"):
                raise self._expected("and, or, or )")
            return term
        start = self._token.span.start
        if self._takes("exists"):
            self._count()
            field = self._field(self._take_operand("a field, such as facts.os.family"))
            return Existence(Span(start, field.span.end), field)
        if self._vocabulary.is_node and self._takes("has"):
            return self._has(start)
        token = self._take_operand(
            f"{'a name, a glob' if self._vocabulary.has_names else 'Type[title]'}, a field, not or ("
        )
        if self._is_sign():
            return self._condition(token)
        return self._named(token) if self._vocabulary.has_names else self._referred(token)

    def _has(self, start: int) -> HasResource:
        """Parse what follows `has`, which is about a resource."""
        outer, self._vocabulary = self._vocabulary, RESOURCES
        with self._deeper():
            if self._is("("):
                resource = self._single()
            else:
                resource = self._referred(
                    self._take_operand("a resource, such as Package[nginx], or ( and a condition on one")
                )
        self._vocabulary = outer
        return HasResource(Span(start, resource.span.end), resource)

    def _referred(self, token: Token) -> ResourceReference:
        self._count()
        match = _REFERENCE.fullmatch(token.text)
        if match is None:
            raise issues.TARGET_SYNTAX.error(
                self._source,
                token.span,
                problem=f"{token} is not a resource",
                advice="write Type[title], such as Package[nginx] or File[/etc/*]; quote all of it if it contains blanks",
            )
        name = "::".join(part[:1].upper() + part[1:].lower() for part in match[1].removeprefix("::").split("::"))
        title = match[2].strip("'\"") if match[2][:1] == match[2][-1:] and match[2][:1] in "'\"" else match[2]
        return ResourceReference(token.span, name, title, any(sign in title for sign in "*?"))

    def _is_sign(self) -> bool:
        return (self._token.kind == "sign" and self._token.text in COMPARISONS) or self._is("in")

    def _condition(self, token: Token) -> Term:
        self._count()
        field = self._field(token)
        sign = self._token
        self._at += 1
        if sign.text == "in":
            return self._membership(field)
        value = self._value()
        if field.parts in AGES:
            value = self._duration(value)
        if sign.text in ("~", "!~"):
            self._check_pattern(value)
        return Comparison(Span(field.span.start, value.span.end), field, sign.text, value)

    def _membership(self, field: Field) -> Term:
        if not self._takes("("):
            raise self._expected("( and values separated by commas, such as in ('a', 'b')")
        values = [self._value()]
        while self._takes(","):
            self._count()
            values.append(self._value())
        end = self._token.span.end
        if not self._takes(")"):
            raise self._expected("a comma or )")
        return Membership(Span(field.span.start, end), field, tuple(values))

    def _named(self, token: Token) -> NodeName:
        if token.kind == "word" and token.text.startswith(("trusted.", "facts.")):
            raise issues.TARGET_SYNTAX.error(
                self._source,
                token.span,
                problem=f"{token.text} has no comparison",
                advice=f"write {token.text} = 'value', or exists {token.text}",
            )
        is_glob = token.kind == "word" and any(sign in token.text for sign in "*?[")
        if is_glob:
            self._count()
        return NodeName(token.span, token.text, is_glob)

    def _field(self, token: Token) -> Field:
        if token.kind != "word":
            raise issues.TARGET_SYNTAX.error(
                self._source,
                token.span,
                problem=f"{token} is not a field",
                advice="write the field without quotes, on the left",
            )
        if not _PATH.fullmatch(token.text):
            raise self._unknown(token)
        parts = _parts(token.text)
        if not self._vocabulary.knows(parts):
            raise self._unknown(token)
        if len(parts) > MAX_PARTS:
            raise issues.TARGET_TOO_LARGE.error(
                self._source, token.span, what=f"a path of {len(parts)} parts", limit=MAX_PARTS
            )
        return Field(token.span, tuple(parts))

    def _unknown(self, token: Token) -> PrecastError:
        known = self._vocabulary
        return issues.UNKNOWN_FIELD.error(
            self._source,
            token.span,
            field=token.text,
            guess=known.guess(token.text),
            what=known.what,
            known=known.known,
        )

    def _value(self) -> Value:
        token = self._take_operand("a value, such as 'text' or 5")
        if token.kind == "quoted":
            return Value(token.span, token.text)
        return Value(token.span, _plain(token.text))

    def _duration(self, value: Value) -> Value:
        """Convert a number with a unit to seconds."""
        try:
            return Value(value.span, read_duration(value.value).total_seconds())
        except InvalidValueError as unfit:
            raise issues.TARGET_SYNTAX.error(
                self._source, value.span, problem="this is not a duration", advice=f"write {unfit}"
            ) from None

    def _check_pattern(self, value: Value) -> None:
        try:
            Pattern(str(value.value))
        except BadPattern as bad:
            raise issues.BAD_PATTERN.error(self._source, value.span, reason=bad.reason) from None

    def _take_operand(self, expected: str) -> Token:
        token = self._token
        if token.kind not in ("word", "quoted") or (token.kind == "word" and token.text in KEYWORDS):
            raise self._expected(expected)
        self._at += 1
        return token

    def _is(self, text: str) -> bool:
        return self._token.kind in ("word", "sign") and self._token.text == text

    def _takes(self, text: str) -> bool:
        is_next = self._is(text)
        self._at += is_next
        return is_next

    def _count(self) -> None:
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise issues.TARGET_TOO_LARGE.error(what=f"a query of {self._terms} terms", limit=MAX_TERMS)

    def _expected(self, expected: str) -> PrecastError:
        return issues.TARGET_SYNTAX.error(
            self._source,
            self._token.span,
            problem=f"{self._token} is not expected here",
            advice=f"write {expected}",
        )

    @contextlib.contextmanager
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise issues.TARGET_TOO_LARGE.error(what=f"a query {self._depth} levels deep", limit=MAX_DEPTH)
        yield
        self._depth -= 1


def _over(terms: Sequence[Term]) -> Span:
    return Span(terms[0].span.start, terms[-1].span.end)


def _parts(text: str) -> list[str]:
    """Split a path at its dots, except those in quotes."""
    return [part[1:-1] if part[:1] in ("'", '"') else part for part in _PART.findall(text)]


def _plain(text: str) -> str | int | float | bool:
    """Convert an unquoted value: to a number or boolean if it looks like one."""
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text
