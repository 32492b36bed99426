"""From text to tokens, in one pass driven by one regular expression.

A match includes the blanks and comments before a token, so the loop runs once per token. A string with interpolation becomes a flat
sequence: STRING_START, the tokens of the first expression, STRING_MIDDLE, …, STRING_END; the lexer calls itself for the code inside
`${…}`. A heredoc is emitted at its tag, and the line break after the tag then jumps over its text; until that line break a second
expression is used, which matches line breaks.

Offsets refer to the whole source, also for a part that is lexed on its own (a heredoc without its margin): an `OffsetMap` converts
them.
"""

import re
from collections.abc import Callable
from typing import Final, NoReturn

from precast.base.errors import Issue
from precast.base.spans import Source, Span
from precast.lang.issues import syntax as issues
from precast.lang.syntax import tokens as t
from precast.lang.syntax.escapes import DOUBLE_QUOTED, EscapeSet, unescape_single
from precast.lang.syntax.heredocs import BLANK, find_heredoc

# No group is repeated possessively, because Python before 3.11.5 mishandles backtracking into such a group. Instead no text here can
# match in two ways, so there is nothing to backtrack to.
_BLOCK: Final = r"/\*[^*]*+\*++(?:[^*/][^*]*+\*++)*/"
_COMMENT: Final = rf"#[^\n]*+|{_BLOCK}"
_WORD: Final = r"(?:::)?[a-z_](?:[\w-]*\w)?(?:::[a-z_](?:[\w-]*\w)?)*"
_GROUPS: Final = (
    ("word", _WORD),
    ("variable", r"\$(?:::)?(?:\w+::)*\w+"),
    ("operator", r"=>|==|=~|[=,;.]|:(?!:[A-Z])|->|-=|-|~>|<<\||<\||<-|<~|<=|<<|<|\|>>|\|>|\||>=|>>|>|\+>|\+=|\+|!=|!~|!|@@|@(?!\()|[?*%~]"),
    ("single", r"'[^'\\]*+(?:\\(?s:.)[^'\\]*+)*'"),
    ("reference", r"(?:(?:::)?[A-Z]\w*)+"),
    ("opening", r"\{"),
    ("closing", r"\}"),
    ("bracket", r"\["),
    ("end_bracket", r"\]"),
    ("parenthesis", r"\("),
    ("end_parenthesis", r"\)"),
    ("number", r"0[xX]\w*|\d\w*(?:(?<=[eE])-\d\w*)?(?:\.\d\w*(?:(?<=[eE])-\d\w*)?)?"),
    ("plain", r'"[^"\\$]*+"'),
    ("double", r'"'),
    ("slash", rf"(?!{_BLOCK})/"),
    ("heredoc", r"@\("),
)  # fmt: skip
_NUMBER: Final = re.compile(
    r"[1-9]\d*(?:\.\d+)?(?:[eE]-?\d+)?|0(?:\.\d+(?:[eE]-?\d+)?)?|0[0-7]+|0[xX][0-9A-Fa-f]+", re.ASCII
)
_REGEXP: Final = re.compile(r"/[^/\\]*+(?:\\(?s:.)[^/\\]*+)*/")
_VARIABLE: Final = re.compile(r"\$((?:::)?(?:\w+::)*\w+)", re.ASCII)
_MAX_DEPTH: Final = 50  # strings inside strings


def _skipped(blank: str) -> str:
    return f"{blank}*+(?:(?:{_COMMENT}){blank}*+)*"


def _pattern(blank: str, *more: tuple[str, str]) -> re.Pattern[str]:
    groups = (*more, *_GROUPS, ("end", r"\Z"))
    named = "|".join(f"(?P<{name}>{text})" for name, text in groups)
    return re.compile(f"{_skipped(blank)}(?:{named})", re.ASCII)


_WIDE: Final = BLANK[:-1] + r"\n]"
_SKIPPED: Final = re.compile(_skipped(_WIDE))
_TAG_END: Final = ("tag_end", r"-?%>")
_LINE_BREAK: Final = ("line_break", r"\n")
CODE: Final = (_pattern(_WIDE), _pattern(BLANK, _LINE_BREAK))
EPP_CODE: Final = (_pattern(_WIDE, _TAG_END), _pattern(BLANK, _LINE_BREAK, _TAG_END))

OffsetMap = Callable[[int], int]


class Lexer:
    """Lexes one text into `tokens`. Raises InputError for text that cannot be a token."""

    def __init__(
        self,
        source: Source,
        text: str,
        tokens: t.Tokens,
        offset_map: OffsetMap | None = None,
        patterns: tuple[re.Pattern[str], re.Pattern[str]] = CODE,
    ) -> None:
        self.source = source
        self.text = text
        self.tokens = tokens
        self.offset_map = offset_map
        self.depth = 0
        # Where lexing continues after the line of a heredoc's tag; None if no heredoc is pending.
        self.jump: int | None = None
        self.jumped = -1
        self._whole, self._line = patterns

    def fail(self, issue: Issue, start: int, end: int, **values: object) -> NoReturn:
        if self.offset_map is not None:
            start, end = self.offset_map(start), self.offset_map(end)
        raise issue.error(self.source, Span(start, end), **values)

    def lex_code(self, pos: int, is_nested: bool = False) -> int:  # noqa: C901 - one branch per group of the expression
        """Lex to the end or, if nested, to the brace that closes the interpolation; give the offset after it."""
        text, tokens = self.text, self.tokens
        kinds, values, starts, ends = tokens.kinds, tokens.values, tokens.starts, tokens.ends
        braces = 0
        match = (self._whole if self.jump is None else self._line).match
        while True:
            token = match(text, pos)
            if token is None:
                pos = self._unmatched(pos)
                continue
            group = token.lastgroup or ""
            start, end = token.span(group)
            value = text[start:end]
            pos = end
            if group == "word":
                kind = _kind_of_word(value)
            elif group == "variable":
                kind = t.VARIABLE
                value = value[1:]
            elif group == "single":
                kind = t.STRING
                value = unescape_single(value[1:-1]) if "\\" in value else value[1:-1]
            elif group == "reference":
                kind = t.REFERENCE
            elif group == "opening":
                kind = value
                braces += 1
            elif group == "closing":
                if is_nested and braces == 0:
                    return end
                kind = value
                braces -= 1
            elif group == "bracket":
                kind = t.LIST_START if start == 0 or text[start - 1].isspace() else value
            elif group == "parenthesis":
                is_first = token.start() == self.jumped or "\n" in text[token.start() : start]
                kind = t.GROUP_START if is_first else value
            elif group == "plain":
                kind = t.STRING
                value = value[1:-1]
            elif group == "number":
                kind = t.NUMBER
                self._check_number(value, start, end)
            elif group in _SPECIAL:
                step = self.special(group, start, end, is_nested)
                if step is None:
                    return end
                pos = step
                match = (self._whole if self.jump is None else self._line).match
                continue
            else:
                kind = value
            kinds.append(kind)
            values.append(value)
            starts.append(start)
            ends.append(end)

    def special(self, group: str, start: int, end: int, is_nested: bool) -> int | None:
        """Lex a construct of more than one token; give the offset where to continue, None at the end."""
        if group == "double":
            return self.string(end, DOUBLE_QUOTED, start)
        if group == "slash":
            return self._slash(start)
        if group == "heredoc":
            return self._heredoc(start)
        if group == "line_break":
            jump = self.jump
            assert jump is not None
            self.jump, self.jumped = None, jump
            return jump
        if is_nested:
            self.fail(issues.UNEXPECTED_END, start, end, wanted="", advice="close the interpolation with }")
        self.tokens.add(t.END, "", start, end)
        return None

    def _unmatched(self, pos: int) -> int:
        text = self.text
        skipped = _SKIPPED.match(text, pos)
        assert skipped is not None
        start = skipped.end()
        if text.startswith("'", start):
            self.fail(issues.UNCLOSED_QUOTE, start, start + 1, quote='"\'"', text=_head(text, start + 1), mark="'")
        if text.startswith("\ufeff", start) and start == 0:
            self.fail(issues.BYTE_ORDER_MARK, 0, 1)
        self.tokens.add(t.OTHER, text[start : start + 1], start, start + 1)
        return start + 1

    def _slash(self, start: int) -> int:
        kinds = self.tokens.kinds
        if self.text.startswith("/*", start):
            self.fail(issues.UNCLOSED_COMMENT, start, start + 2)
        if not kinds or kinds[-1] not in t.BEFORE_DIVISION:
            regexp = _REGEXP.match(self.text, start)
            if regexp is not None:
                self.tokens.add(t.REGEXP, regexp.group()[1:-1].replace("\\/", "/"), start, regexp.end())
                return regexp.end()
        self.tokens.add("/", "/", start, start + 1)
        return start + 1

    def _check_number(self, value: str, start: int, end: int) -> None:
        if value.isdigit() and (value[0] != "0" or value == "0"):
            return
        if _NUMBER.fullmatch(value) is None:
            if value[:2] in ("0x", "0X"):
                self.fail(issues.ILLEGAL_RADIX, start, end, radix="hex", text=value)
            if value[0] == "0" and value[1:2].isdigit():
                self.fail(issues.ILLEGAL_RADIX, start, end, radix="octal", text=value)
            self.fail(issues.ILLEGAL_NUMBER, start, end, text=value)

    def _heredoc(self, start: int) -> int:
        """Lex the heredoc whose tag begins here; give the offset where its line continues."""
        heredoc = find_heredoc(self.text, start, self.jump, self.fail)
        self.jump = heredoc.text_end
        tokens = self.tokens
        tokens.add(t.HEREDOC, heredoc.syntax, start, heredoc.tag_end)
        outer, original = self.offset_map, heredoc.offsets.original
        inner = Lexer(
            self.source, heredoc.text, tokens, original if outer is None else lambda offset: outer(original(offset))
        )
        inner.depth = self.depth + 1
        if inner.depth > _MAX_DEPTH:
            self.fail(issues.TOO_DEEP, start, heredoc.tag_end, limit=_MAX_DEPTH)
        count = len(tokens.kinds)
        inner.string(0, heredoc.escapes, 0)
        for spans in (tokens.starts, tokens.ends):
            spans[count:] = map(original, spans[count:])
        return heredoc.tag_end

    def warn(self, text: str, start: int, end: int) -> None:
        if self.offset_map is not None:
            start, end = self.offset_map(start), self.offset_map(end)
        self.tokens.warnings.append((start, end, text))

    def string(self, pos: int, escapes: EscapeSet, start: int) -> int:
        """Lex text with interpolation from `pos` to its closing quote, or for a heredoc to the end of the text."""
        text, tokens = self.text, self.tokens
        kind = t.STRING_START
        opening = start
        while True:
            plain = escapes.plain.match(text, pos)
            assert plain is not None
            stop = plain.end()
            part = escapes.resolve(self, plain.group(), pos)
            if text.startswith("$", stop):
                tokens.add(kind, part, start, stop)
                kind = t.STRING_MIDDLE
                pos = self._interpolation(stop)
                start = pos - 1 if text[pos - 1] == "}" else pos
                continue
            last = t.STRING if kind is t.STRING_START else t.STRING_END
            if text.startswith('"', stop) and escapes.is_quoted:
                stop += 1
            elif stop < len(text) or escapes.is_quoted:  # no closing quote, or a backslash as the last character
                head = _head(text, opening + 1)
                self.fail(issues.UNCLOSED_QUOTE, opening, opening + 1, quote="'\"'", text=head, mark='"')
            tokens.add(last, part, start, stop)
            return stop

    def _interpolation(self, pos: int) -> int:
        """Lex `$name` or `${…}` at a dollar sign; give the offset where the string continues."""
        tokens = self.tokens
        if not self.text.startswith("{", pos + 1):
            variable = _VARIABLE.match(self.text, pos)
            assert variable is not None
            tokens.add(t.VARIABLE, variable.group(1), pos, variable.end())
            return variable.end()
        if self.depth >= _MAX_DEPTH:
            self.fail(issues.TOO_DEEP, pos, pos + 2, limit=_MAX_DEPTH)
        self.depth += 1
        first = len(tokens.kinds)
        stop = self.lex_code(pos + 2, is_nested=True)
        self.depth -= 1
        # Before `}`, `[` and `.` a bare word or number is the name of a variable, even a keyword.
        following = tokens.kinds[first + 1] if len(tokens.kinds) > first + 1 else "}"
        if len(tokens.kinds) > first and following in ("}", "[", ".") and _may_name_variable(tokens.kinds[first]):
            if tokens.kinds[first] == t.BOOLEAN:
                self.fail(issues.BOOLEAN_VARIABLE, pos, stop, name=tokens.values[first])
            tokens.kinds[first] = t.VARIABLE
        return stop


_SPECIAL: Final = frozenset(("double", "slash", "heredoc", "line_break", "tag_end", "end"))


def _kind_of_word(value: str) -> str:
    if value in t.KEYWORDS:
        return value
    if value == "true" or value == "false":
        return t.BOOLEAN
    if "-" in value or value.startswith("_") or "::_" in value:
        return t.WORD
    return t.NAME


def _may_name_variable(kind: str) -> bool:
    return kind in (t.NAME, t.WORD, t.NUMBER, t.BOOLEAN) or kind in t.KEYWORDS


def _head(text: str, start: int) -> str:
    """The first characters of the following text, to identify the place."""
    part = text[start : start + 5]
    return part + "..." if part else "end of file"


def lex(source: Source) -> t.Tokens:
    """The tokens of a manifest."""
    tokens = t.Tokens()
    Lexer(source, source.text, tokens).lex_code(0)
    return tokens
