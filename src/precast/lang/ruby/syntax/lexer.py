"""Turns Ruby code into tokens.

Where Ruby's own lexer asks its parser, this one decides by the token before: whether `/` divides or begins a pattern, whether `%` begins
a list of words, whether a line end ends a statement.
"""

import re
from typing import Any, Final

from precast.base.spans import Source, Span
from precast.lang.ruby.syntax.heredocs import Heredocs
from precast.lang.ruby.syntax.tokens import END, KEYWORDS, Interpolated, Token

# Tokens that end a value, so that an operator follows and no value.
_VALUE_ENDS: Final = frozenset((
    "number", "string", "symbol", "ivar", "global", "constant", "words", "pattern", "command",
    ")", "]", "}", "end", "nil", "true", "false", "self",
))  # fmt: skip
# Tokens after which a statement continues on the next line.
_CONTINUES: Final = frozenset((
    "+", "-", "*", "/", "%", "=", "==", "!=", "<", ">", "<=", ">=", "&&", "||", "and", "or", "not", ",", ".", "&.",
    "?", ":", "=>", "<<", "=~", "!~", "+=", "||=", "<=>", "::", "!", "-=", "*=", "/=", "&&=", "<<=", "**", "===", "&", "^", "..",
))  # fmt: skip
_BLANK: Final = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_COMMENT: Final = re.compile(r"#[^\n]*")
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_VARIABLE: Final = re.compile(r"@@?[A-Za-z_]\w*|\$(?:[A-Za-z_]\w*|\d+|[~&!@;,/\\.<>_0*$?:\"])")
_SYMBOL: Final = re.compile(
    r":(?:@{0,2}[A-Za-z_]\w*(?:[?!](?!=)|=(?![>=~]))?(?![\w]))"
    r"|:(?:\[\]=?|<=>|===?|=~|![=~]?|\*\*|[+\-]@|<<|>>|<=|>=|[-+*/%<>&|^~])"
)
_CHARACTER: Final = re.compile(r"\?(?:\\(?:u[0-9a-fA-F]{4}|.)|[^\s\\])(?!\w)")
_OPERATOR: Final = re.compile(
    r"\*\*=|<=>|===|\.\.\.|<<=|>>=|&&=|\|\|=|\*\*|==|!=|=~|!~|<=|>=|&&|\|\||<<|>>|\+=|-=|\*=|/=|%=|\|=|&=|=>|->|::|\.\.|&\.|"
    r"[-+*/%=<>!&|^~?:,.;(){}\[\]]"
)
_CODE_ESCAPE: Final = re.compile(r"u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{1,2})")
# `#@name` in a string, which needs no braces.
_BARE_VARIABLE: Final = re.compile(r"#(@@?[A-Za-z_]\w*|\$(?:[A-Za-z_]\w*|\d))")
_BRACKETS: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "s": " ", "0": "\0", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
}  # fmt: skip


class CodeLexer(Heredocs):
    """Lexes one piece of code, which begins at an offset of its source."""

    has_commands = False  # whether a command in backquotes is a token; templates refuse it

    def __init__(self, source: Source, text: str, at: int) -> None:
        self.source, self.text, self.base = source, text, at
        self.at = 0
        self.tokens: list[Token] = []
        self.after_line: int | None = None
        self.ends_in_comment = False  # whether a comment reaches to the end of the text

    def run(self) -> list[Token]:
        while True:
            start = self.at
            if (blank := _BLANK.match(self.text, self.at)) is not None:
                self.at = blank.end()
            if (comment := _COMMENT.match(self.text, self.at)) is not None:
                self.at = comment.end()
                self.ends_in_comment = self.at == len(self.text)
            if self.at >= len(self.text):
                return self.tokens
            self._step(self.at > start)

    def _step(self, is_spaced: bool) -> None:
        text, at = self.text, self.at
        char = text[at]
        if char == "\n":
            if self.after_line is not None:  # the heredocs of the line come before the next one
                self.at, self.after_line = self.after_line - 1, None
            self.at += 1
            self._end_line()
        elif char == "<" and (heredoc := self.find_heredoc(is_spaced)) is not None:
            self.lex_heredoc(heredoc, is_spaced)
        elif char in "\"'`":
            self._quoted(is_spaced)
        elif (match := _NUMBER.match(text, at)) is not None:
            self._add("number", self._number(match[0]), match.end(), is_spaced)
        elif (match := _VARIABLE.match(text, at)) is not None:
            kind = "ivar" if char == "@" else "global"
            self._add(kind, match[0][1:], match.end(), is_spaced)  # `@@name` is `@name` here
        elif char == ":" and text[at + 1 : at + 2] in ('"', "'") and text[at + 1 :] and self._may_be_symbol():
            self.at += 1
            self._quoted(is_spaced, "symbol")
        elif (
            char == ":"
            and text[at : at + 2] != "::"
            and (match := _SYMBOL.match(text, at)) is not None
            and self._may_be_symbol()
        ):
            self._add("symbol", match[0][1:], match.end(), is_spaced)
        elif _NAME.match(text, at) is not None:
            self._name(is_spaced)
        else:
            self._sign(is_spaced)

    def _sign(self, is_spaced: bool) -> None:
        """Lex what begins with a sign: a character, a list of words, a pattern or an operator."""
        text, at = self.text, self.at
        char = text[at]
        if char == "?" and (match := self._character(is_spaced)) is not None:
            self._add(
                "string",
                self._escape(at, "", True, False)[0] if match[0][1] == "\\" else match[0][1],
                match.end(),
                is_spaced,
            )
        elif char == "%" and self._is_value_next(is_spaced) and re.match(r"%[wWqQiIrsx]?[\(\[\{<|!/]", text[at:]):
            self._percent(is_spaced)
        elif char == "/" and self._is_value_next(is_spaced):
            self._pattern("/", at + 1, is_spaced)
        else:
            self._operator(is_spaced)

    def _add(self, kind: str, value: Any, end: int, is_spaced: bool) -> None:
        self.tokens.append(Token(kind, value, Span(self.base + self.at, self.base + end), is_spaced))
        self.at = end

    def _end_line(self) -> None:
        """Add a token for the line end, unless the statement continues on the next line."""
        if self.tokens and self.tokens[-1].kind == "\n":
            return
        if self.tokens and self._continues(self.tokens[-1]):
            return
        rest = re.match(r"(?:\s|#[^\n]*\n)*(&?\.)(?!\.)", self.text[self.at :])
        if rest is None:
            self.tokens.append(Token("\n", None, Span(self.base + self.at, self.base + self.at)))

    @staticmethod
    def _continues(last: Token) -> bool:
        return last.value is None and last.kind in _CONTINUES

    def _is_value_next(self, is_spaced: bool) -> bool:
        """Return whether a value may begin here, judged by the token before."""
        if not self.tokens:
            return True
        last = self.tokens[-1]
        if last.kind in _VALUE_ENDS:
            return False
        if last.kind == "name":
            # `foo /x/` and `foo %w[a]` have a blank before and none after.
            following = self.text[self.at + 1 : self.at + 2]
            return is_spaced and not following.isspace() and following != "="
        return True

    def _character(self, is_spaced: bool) -> "re.Match[str] | None":
        """Return the match of a literal such as `?a`; after a name, `?` belongs to a condition."""
        if not self.tokens or self.tokens[-1].kind == "name" or not self._is_value_next(is_spaced):
            return None
        match = _CHARACTER.match(self.text, self.at)
        return match if match is None or match[0][1] != "\\" else re.compile(r"\?\\.").match(self.text, self.at)

    def _may_be_symbol(self) -> bool:
        # In `a ? b :c` the colon belongs to the condition.
        return (
            not self.tokens
            or self._is_value_next(True)
            or (self.text[self.at - 1 : self.at].isspace() and self._is_outside_condition())
        )

    def _is_outside_condition(self) -> bool:
        for token in reversed(self.tokens):
            if token.kind == "\n":
                break
            if token.kind == "?":
                return False
        return True

    def _name(self, is_spaced: bool) -> None:
        match = _NAME.match(self.text, self.at)
        assert match is not None
        name, end = match[0], match.end()
        following = self.text[end : end + 2]
        after_dot = bool(self.tokens) and self.tokens[-1].kind in (".", "&.")
        if following[:1] in ("?", "!") and (following[1:2] != "=" or self.text[end + 2 : end + 3] in ("=", "~")):
            name, end = name + following[0], end + 1
            following = self.text[end : end + 2]
        if following[:1] == ":" and following != "::" and not after_dot and self._is_label(end):
            self._add("label", name, end + 1, is_spaced)
        elif name in KEYWORDS and not after_dot:
            self._add(name, None, end, is_spaced)
        else:
            self._add("constant" if name[0].isupper() and not after_dot else "name", name, end, is_spaced)

    def _is_label(self, end: int) -> bool:
        """Return whether `name:` is the key of a hash or argument; after an open `?` it may be the colon of the condition."""
        if self._is_outside_condition():
            return True
        follows = bool(self.tokens) and self.tokens[-1].kind in ("{", ",", "(")
        return follows and self.text[end + 1 : end + 2].isspace()

    def _operator(self, is_spaced: bool) -> None:
        match = _OPERATOR.match(self.text, self.at)
        if match is None:
            self.fail(f"{self.text[self.at]!r} is not a valid token")
        kind = match[0]
        self._add("\n" if kind == ";" else kind, None, match.end(), is_spaced)

    def _quoted(self, is_spaced: bool, kind: str = "string") -> None:
        quote = self.text[self.at]
        if quote == "`":
            kind = self._command_kind()
        start = self.at
        pieces, end = self._string(self.at + 1, quote, quote != "'")
        if (
            kind == "string"
            and self.text[end : end + 1] == ":"
            and self.text[end : end + 2] != "::"
            and self._is_label(end)
        ):
            self.at = start
            self._add("label", _plain(pieces), end + 1, is_spaced)
            return
        self.at = start
        value = _plain(pieces)
        self._add(kind, value, end, is_spaced)

    def _percent(self, is_spaced: bool) -> None:
        kind = self.text[self.at + 1]
        at = self.at + (2 if kind.isalpha() else 1)
        if kind == "r":
            self._pattern(_BRACKETS.get(self.text[at], self.text[at]), at + 1, is_spaced, self.text[at])
            return
        opening = self.text[at]
        closing = _BRACKETS.get(opening, opening)
        if kind == "x":
            self._command_kind()
        pieces, end = self._string(at + 1, closing, kind not in "qwis", opening if closing != opening else "")
        if kind == "s":
            self._add("symbol", _plain(pieces), end, is_spaced)
        elif kind in "wWiI":
            self._add("words", (_words(pieces), kind in "iI"), end, is_spaced)
        else:
            self._add("command" if kind == "x" else "string", _plain(pieces), end, is_spaced)

    def _command_kind(self) -> str:
        """Return the kind of the token of a command. Raises InputError LANG-901 where commands are refused."""
        if not self.has_commands:
            self.refuse_command()
        return "command"

    def _pattern(self, closing: str, begin: int, is_spaced: bool, opening: str = "") -> None:
        pieces, end = self._string(begin, closing, True, opening, is_pattern=True)
        flags = re.match(r"[imxounse]*", self.text[end:])
        assert flags is not None
        self._add("pattern", (_plain(pieces), flags[0]), end + flags.end(), is_spaced)

    def _string(
        self, at: int, closing: str, has_escapes: bool, opening: str = "", *, is_pattern: bool = False
    ) -> tuple[list[Any], int]:
        """Return the texts and code up to the closing mark, and the offset after it."""
        text, pieces, plain, depth = self.text, list[Any](), list[str](), 0
        while at < len(text):
            char = text[at]
            if char == closing and depth == 0:
                return [*pieces, "".join(plain)], at + 1
            if opening and char in (opening, closing):
                depth += 1 if char == opening else -1
            if char == "\\" and at + 1 < len(text):
                piece, at = self._escape(at, closing, has_escapes, is_pattern)
                plain.append(piece)
            elif has_escapes and char == "#" and text[at + 1 : at + 2] in ("{", "@", "$"):
                tokens, at = self._code(at + 2) if text[at + 1] == "{" else self._bare(at)
                pieces += ["".join(plain), tokens] if tokens else []
                plain = [] if tokens else [*plain, char]
            else:
                plain.append(char)
                at += 1
        return self.fail("a string is not closed", f"close it with {closing}")

    def _escape(self, at: int, closing: str, has_escapes: bool, is_pattern: bool) -> tuple[str, int]:
        following = self.text[at + 1]
        if is_pattern:
            return (following if following == "/" else f"\\{following}"), at + 2
        if not has_escapes:
            return (following if following in (closing, "\\") else f"\\{following}"), at + 2
        if (escape := _CODE_ESCAPE.match(self.text, at + 1)) is not None:
            return chr(int(escape[1] or escape[2] or escape[3], 16)), escape.end()
        if following == "\n":
            return "", at + 2
        return _ESCAPES.get(following, following), at + 2

    def _bare(self, at: int) -> tuple[list[Token], int]:
        """Return the tokens of `#@name` and the offset after it; no tokens if it is a plain `#`."""
        match = _BARE_VARIABLE.match(self.text, at)
        if match is None:
            return [], at + 1
        span = Span(self.base + at, self.base + match.end())
        kind = "ivar" if match[1][0] == "@" else "global"
        return [Token(kind, match[1][1:], span), Token(END, None, span)], match.end()

    def _code(self, at: int) -> tuple[list[Token], int]:
        """Return the tokens of `#{…}` and the offset after it."""
        inner = type(self)(self.source, self.text, self.base)
        inner.at, depth = at, 0
        while inner.at < len(inner.text):
            if (blank := _BLANK.match(inner.text, inner.at)) is not None:
                inner.at = blank.end()
            if inner.text[inner.at : inner.at + 1] == "}" and depth == 0:
                offset = self.base + inner.at
                return [*inner.tokens, Token(END, None, Span(offset, offset))], inner.at + 1
            if inner.at >= len(inner.text):
                break
            inner._step(blank is not None)
            depth += {"{": 1, "}": -1}.get(inner.tokens[-1].kind, 0) if inner.tokens else 0
        return self.fail("#{ has no }", "close it with }")

    def _number(self, text: str) -> int | float:
        try:
            return _read_number(text)
        except ValueError:
            return self.fail(f"{text[:20]} is not a number", "write it with fewer digits, and without a leading 0")


def _read_number(text: str) -> int | float:
    """Read a number. Raises ValueError for one that Ruby has not, such as 09, or that has too many digits."""
    text = text.replace("_", "")
    if text[:2] in ("0x", "0X", "0b", "0B", "0o", "0O"):
        return int(text, 0)
    if any(mark in text for mark in ".eE"):
        return float(text)
    return int(text, 8) if len(text) > 1 and text[0] == "0" else int(text)


def _words(pieces: list[Any]) -> list[Any]:
    """Return the words between blanks; a word may have code in it, whose value is never split."""
    words: list[list[Any]] = [[]]
    for piece in pieces:
        if not isinstance(piece, str):
            words[-1].append(piece)
            continue
        for at, part in enumerate(re.split(r"\s+", piece)):
            if at:
                words.append([])
            if part:
                words[-1].append(part)
    return [word[0] if len(word) == 1 and isinstance(word[0], str) else Interpolated(word) for word in words if word]


def _plain(pieces: list[Any]) -> Any:
    """Return the text itself if there is no code in it."""
    return pieces[0] if len(pieces) == 1 else Interpolated(pieces)
