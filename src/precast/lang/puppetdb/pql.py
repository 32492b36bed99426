"""Parses PQL, PuppetDB's query language, into PuppetDB's AST, which `ast_reader` reads.

nodes[certname] { facts { name = 'kernel' and value = 'Linux' } order by certname limit 5 }
"""

import re
from typing import Any, Final, NamedTuple, NoReturn

from precast.lang.issues import puppetdb as issues
from precast.lang.puppetdb.queries import FUNCTIONS

MAX_CHARS: Final = 20_000
MAX_DEPTH: Final = 40
_PART: Final = r"""(?:[A-Za-z_][\w?-]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_TOKEN: Final = re.compile(
    r"(?P<space>\s+|\#[^\n]*)"
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    rf"|(?P<path>[A-Za-z_]\w*(?:(?:\.{_PART})(?:\[\d+\])*)+)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"""|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"|(?P<sign>~>|!=|!~|<=|>=|[=~<>!\[\](){},*])",
    re.DOTALL,
)
_PATH_PART: Final = re.compile(rf"({_PART})|\[(\d+)\]")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_SIGNS: Final = ("=", "!=", "~", "!~", "~>", "<", "<=", ">", ">=")


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def parse_pql(text: str) -> list[Any]:
    """The AST of a query. Raises LANG-782."""
    if len(text) > MAX_CHARS:
        raise issues.BAD_QUERY.error(reason=f"it is longer than {MAX_CHARS} characters")
    return _Parser(text).parse()


class _Parser:
    """Parses one query."""

    def __init__(self, text: str) -> None:
        self._tokens = _split(text)
        self._at = 0
        self._depth = 0

    def parse(self) -> list[Any]:
        query = self._query()
        if self._token.kind != "end":
            self._fail("the end of the query")
        return query

    @property
    def _token(self) -> _Token:
        return self._tokens[self._at]

    def _query(self) -> list[Any]:
        entity = self._take_kind("word", "the name of an entity, such as nodes")
        columns = self._columns() if self._is("[") else None
        self._expect("{")
        where = None if self._is("}") or self._is_paging() else self._or()
        group: list[Any] = []
        paging: list[Any] = []
        while self._is_paging():
            clause = self._paging()
            (group if clause[0] == "group_by" else paging).append(clause)
        self._expect("}")
        body: list[Any] = [] if where is None else [where]
        if columns is not None or group:
            body = [["extract", columns or [], *body, *group]]
        return ["from", entity, *body, *paging]

    def _columns(self) -> list[Any]:
        self._expect("[")
        columns: list[Any] = []
        while not self._is("]"):
            columns.append(self._column())
            if not self._takes(","):
                break
        self._expect("]")
        return columns

    def _column(self) -> Any:
        if self._token.text in FUNCTIONS and self._tokens[self._at + 1].text == "(":
            function = self._take_kind("word", "a function")
            self._expect("(")
            arguments = [] if self._is(")") else [self._field()]
            self._expect(")")
            return ["function", function, *arguments]
        return self._field()

    def _is_paging(self) -> bool:
        return self._is_word("group", "order", "limit", "offset") and self._tokens[self._at + 1].kind in (
            "word",
            "number",
        )

    def _paging(self) -> list[Any]:
        word = self._take_kind("word", "a clause")
        if word in ("limit", "offset"):
            return [
                word,
                int(self._take_kind("number", "a number")) if self._token.text.isdigit() else self._fail("a count"),
            ]
        if not self._takes_word("by"):
            self._fail("by")
        fields = [self._ordered() if word == "order" else self._column()]
        while self._takes(","):
            fields.append(self._ordered() if word == "order" else self._column())
        return ["order_by", fields] if word == "order" else ["group_by", *fields]

    def _ordered(self) -> Any:
        field = self._column()
        if self._is_word("asc", "desc"):
            return [field, self._take_kind("word", "a direction")]
        return field

    def _or(self) -> Any:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise issues.BAD_QUERY.error(reason=f"it is nested deeper than {MAX_DEPTH} levels")
        terms = [self._and()]
        while self._takes_word("or"):
            terms.append(self._and())
        self._depth -= 1
        return terms[0] if len(terms) == 1 else ["or", *terms]

    def _and(self) -> Any:
        terms = [self._not()]
        while self._takes_word("and"):
            terms.append(self._not())
        return terms[0] if len(terms) == 1 else ["and", *terms]

    def _not(self) -> Any:
        count = 0
        while self._takes("!"):
            count += 1
        term = self._primary()
        return ["not", term] if count % 2 else term

    def _primary(self) -> Any:
        if self._takes("("):
            term = self._or()
            self._expect(")")
            return term
        following = self._tokens[self._at + 1].text if self._token.kind != "end" else ""
        if self._token.kind == "word" and following in ("{", "["):
            return self._subquery()
        fields = self._fields()
        if self._takes_word("in"):
            return ["in", fields, ["array", self._array()] if self._is("[") else self._query()]
        if isinstance(fields, _Fields):
            self._fail("in")
        return self._condition(fields)

    def _subquery(self) -> Any:
        """`resources { type = 'Class' }` as a condition: another entity of the same node."""
        entity = self._take_kind("word", "an entity")
        if self._is("["):
            self._fail("{, because a subquery without `in` has no columns")
        self._expect("{")
        where = None if self._is("}") else self._or()
        self._expect("}")
        return ["subquery", entity, *([] if where is None else [where])]

    def _condition(self, field: Any) -> Any:
        if self._takes_word("is"):
            is_null = not self._takes_word("not")
            if not self._takes_word("null"):
                self._fail("null")
            return ["null?", field, is_null]
        sign = self._token.text
        if self._token.kind != "sign" or sign not in _SIGNS:
            self._fail("an operator, such as =")
        self._at += 1
        value = self._value()
        return ["not", [sign.lstrip("!"), field, value]] if sign in ("!=", "!~") else [sign, field, value]

    def _fields(self) -> Any:
        if not self._takes("["):
            return self._field()
        fields = _Fields([self._field()])
        while self._takes(","):
            fields.append(self._field())
        self._expect("]")
        return fields

    def _field(self) -> str:
        if self._token.kind not in ("word", "path"):
            self._fail("a field")
        self._at += 1
        return self._tokens[self._at - 1].text

    def _array(self) -> list[Any]:
        self._expect("[")
        values: list[Any] = []
        while not self._is("]"):
            values.append(self._array() if self._is("[") else self._value())
            if not self._takes(","):
                break
        self._expect("]")
        return values

    def _value(self) -> Any:
        token = self._token
        self._at += 1
        if token.kind == "text":
            return _unquote(token.text)
        if token.kind == "number":
            return int(token.text) if re.fullmatch(r"-?\d+", token.text) else float(token.text)
        if token.kind == "word" and token.text in ("true", "false"):
            return token.text == "true"
        self._at -= 1
        return self._fail("a value, such as 'text', 5 or true")

    def _is(self, text: str) -> bool:
        return self._token.kind == "sign" and self._token.text == text

    def _takes(self, text: str) -> bool:
        is_next = self._is(text)
        self._at += is_next
        return is_next

    def _is_word(self, *words: str) -> bool:
        return self._token.kind == "word" and self._token.text in words

    def _takes_word(self, word: str) -> bool:
        is_next = self._is_word(word)
        self._at += is_next
        return is_next

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            self._fail(text)

    def _take_kind(self, kind: str, expected: str) -> str:
        if self._token.kind != kind:
            self._fail(expected)
        self._at += 1
        return self._tokens[self._at - 1].text

    def _fail(self, expected: str) -> NoReturn:
        token = self._token
        found = repr(token.text) if token.kind != "end" else "the end"
        raise issues.BAD_QUERY.error(reason=f"at character {token.at + 1} it has {found} instead of {expected}")


class _Fields(list[Any]):
    """Several fields in brackets, of a condition with `in`."""


def split_path(path: str) -> tuple[str | int, ...]:
    """The parts of `facts.os."my name".list[0]`."""
    return tuple(
        int(match[2]) if match[2] is not None else _unquote(match[1]) if match[1][0] in "\"'" else match[1]
        for match in _PATH_PART.finditer(path)
    )


def _split(text: str) -> list[_Token]:
    tokens = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise issues.BAD_QUERY.error(reason=f"it has {text[at]!r} at character {at + 1}")
        if match.lastgroup != "space":
            tokens.append(_Token(str(match.lastgroup), match[0], at))
        at = match.end()
    end = _Token("end", "", len(text))
    return [*tokens, end, end]


def _unquote(text: str) -> str:
    return re.sub(r"\\([\\'\"ntr])", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1])
