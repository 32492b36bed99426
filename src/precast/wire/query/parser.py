"""Reads targets: by hand, one method for each rule of the grammar, so that every error has its place and its advice.

list    = either { "," either }
either  = both { "or" both }
both    = negated { "and" negated }
negated = "not" negated | single
single  = "(" list ")" | "exists" field | field sign value | field "in" "(" value { "," value } ")" | name | glob
        | "has" reference | "has" "(" list ")"

Inside `has`, and where resources are asked for, the fields are those of a resource, and a reference stands for a name.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence

from precast.base.errors import PrecastError
from precast.base.setting_values import Unfit, duration
from precast.base.spans import Source, Span
from precast.wire import issues
from precast.wire.query.fields import NODES, RESOURCES, Vocabulary
from precast.wire.query.lexer import KEYWORDS, Word, split
from precast.wire.query.patterns import BadPattern, Pattern
from precast.wire.query.targets import (
    And,
    Comparison,
    Existence,
    Field,
    Has,
    Membership,
    Named,
    Not,
    Or,
    Referred,
    Term,
    Value,
)

COMPARISONS = ("=", "!=", "~", "!~", ">", "<", ">=", "<=")
MAX_DEPTH = 50
MAX_PARTS = 12
# Fields that are compared with a length of time.
AGES = (("report", "age"), ("age",))
# How many comparisons and globs one target may hold; names are limited by their length alone.
MAX_TERMS = 1000

_PART = re.compile(r"'[^']*'|\"[^\"]*\"|[^.'\"]+")
_PATH = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")
_REFERENCE = re.compile(r"((?:::)?[A-Za-z][\w]*(?:::[A-Za-z][\w]*)*)\[(.+)\]", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def parse(text: str) -> Term:
    """Read one target. Raises InputError TARGET-001 to TARGET-004, with the place."""
    return _Reading(Source("target", text), NODES).all()


def parse_query(text: str, vocabulary: Vocabulary) -> Term:
    """Read a query over something else than nodes. Raises as `parse` does."""
    return _Reading(Source("query", text), vocabulary).all()


def parse_field(text: str, vocabulary: Vocabulary) -> Field:
    """Read one field by itself. Raises InputError TARGET-001 or TARGET-002."""
    return _Reading(Source("field", text), vocabulary).field()


class _Reading:
    """One pass over the words, by hand: one method for each rule of the grammar."""

    def __init__(self, source: Source, vocabulary: Vocabulary) -> None:
        self._source = source
        self._vocabulary = vocabulary
        self._words = split(source)
        self._at = 0
        self._depth = 0
        self._terms = 0

    def all(self) -> Term:
        if self._word.kind == "end":
            raise issues.NO_TARGETS.error()
        term = self._list()
        if self._word.kind != "end":
            raise self._expected("and, or, a comma or the end")
        return term

    def field(self) -> Field:
        field = self._field(self._next("a field, as facts.os.family"))
        if self._word.kind != "end":
            raise self._expected("nothing more: one field")
        return field

    @property
    def _word(self) -> Word:
        return self._words[self._at]

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
        start = self._word.span.start
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
        start = self._word.span.start
        if self._takes("exists"):
            self._count()
            field = self._field(self._next("a field, as facts.os.family"))
            return Existence(Span(start, field.span.end), field)
        if self._vocabulary.is_node and self._takes("has"):
            return self._has(start)
        word = self._next(f"{'a name, a glob' if self._vocabulary.has_names else 'Type[title]'}, a field, not or (")
        if self._is_sign():
            return self._condition(word)
        return self._named(word) if self._vocabulary.has_names else self._referred(word)

    def _has(self, start: int) -> Has:
        """What stands behind `has` is about a resource."""
        outer, self._vocabulary = self._vocabulary, RESOURCES
        with self._deeper():
            if self._is("("):
                resource = self._single()
            else:
                resource = self._referred(self._next("a resource, as Package[nginx], or ( and a condition on one"))
        self._vocabulary = outer
        return Has(Span(start, resource.span.end), resource)

    def _referred(self, word: Word) -> Referred:
        self._count()
        found = _REFERENCE.fullmatch(word.text)
        if found is None:
            raise issues.TARGET_SYNTAX.error(
                self._source,
                word.span,
                problem=f"{word} is no resource",
                advice="write Type[title], as Package[nginx] or File[/etc/*]; with blanks all of it in quotes",
            )
        name = "::".join(part[:1].upper() + part[1:].lower() for part in found[1].removeprefix("::").split("::"))
        title = found[2].strip("'\"") if found[2][:1] == found[2][-1:] and found[2][:1] in "'\"" else found[2]
        return Referred(word.span, name, title, any(sign in title for sign in "*?"))

    def _is_sign(self) -> bool:
        return (self._word.kind == "sign" and self._word.text in COMPARISONS) or self._is("in")

    def _condition(self, word: Word) -> Term:
        self._count()
        field = self._field(word)
        sign = self._word
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
            raise self._expected("( and values with commas, as in ('a', 'b')")
        values = [self._value()]
        while self._takes(","):
            self._count()
            values.append(self._value())
        end = self._word.span.end
        if not self._takes(")"):
            raise self._expected("a comma or )")
        return Membership(Span(field.span.start, end), field, tuple(values))

    def _named(self, word: Word) -> Named:
        if word.kind == "word" and word.text.startswith(("trusted.", "facts.")):
            raise issues.TARGET_SYNTAX.error(
                self._source,
                word.span,
                problem=f"{word.text} is compared with nothing",
                advice=f"write {word.text} = 'value', or exists {word.text}",
            )
        is_glob = word.kind == "word" and any(sign in word.text for sign in "*?[")
        if is_glob:
            self._count()
        return Named(word.span, word.text, is_glob)

    def _field(self, word: Word) -> Field:
        if word.kind != "word":
            raise issues.TARGET_SYNTAX.error(
                self._source,
                word.span,
                problem=f"{word} is not a field",
                advice="fields stand without quotes, on the left",
            )
        if not _PATH.fullmatch(word.text):
            raise self._unknown(word)
        parts = _parts(word.text)
        if not self._vocabulary.knows(parts):
            raise self._unknown(word)
        if len(parts) > MAX_PARTS:
            raise issues.TARGET_TOO_LARGE.error(
                self._source, word.span, what=f"a path of {len(parts)} parts", limit=MAX_PARTS
            )
        return Field(word.span, tuple(parts))

    def _unknown(self, word: Word) -> PrecastError:
        known = self._vocabulary
        return issues.UNKNOWN_FIELD.error(
            self._source, word.span, field=word.text, guess=known.guess(word.text), what=known.what, known=known.known
        )

    def _value(self) -> Value:
        word = self._next("a value, as 'text' or 5")
        if word.kind == "quoted":
            return Value(word.span, word.text)
        return Value(word.span, _plain(word.text))

    def _duration(self, value: Value) -> Value:
        """Seconds, from a number with its unit."""
        try:
            return Value(value.span, duration(value.value).total_seconds())
        except Unfit as unfit:
            raise issues.TARGET_SYNTAX.error(
                self._source, value.span, problem="this is no length of time", advice=f"write {unfit}"
            ) from None

    def _check_pattern(self, value: Value) -> None:
        try:
            Pattern(str(value.value))
        except BadPattern as bad:
            raise issues.BAD_PATTERN.error(self._source, value.span, reason=bad.reason) from None

    def _next(self, wanted: str) -> Word:
        word = self._word
        if word.kind not in ("word", "quoted") or (word.kind == "word" and word.text in KEYWORDS):
            raise self._expected(wanted)
        self._at += 1
        return word

    def _is(self, text: str) -> bool:
        return self._word.kind in ("word", "sign") and self._word.text == text

    def _takes(self, text: str) -> bool:
        found = self._is(text)
        self._at += found
        return found

    def _count(self) -> None:
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise issues.TARGET_TOO_LARGE.error(what=f"a query of {self._terms} terms", limit=MAX_TERMS)

    def _expected(self, wanted: str) -> PrecastError:
        return issues.TARGET_SYNTAX.error(
            self._source,
            self._word.span,
            problem=f"{self._word} stands where something else is expected",
            advice=f"write {wanted}",
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
    """A path by its dots, of which those in quotes are none."""
    return [part[1:-1] if part[:1] in ("'", '"') else part for part in _PART.findall(text)]


def _plain(text: str) -> str | int | float | bool:
    """A value without quotes: a number or truth if it looks like one."""
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text
