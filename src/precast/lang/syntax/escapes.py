"""The meaning of a backslash in double-quoted strings, in heredocs with their flags, and in single-quoted strings.

An EscapeSet knows where plain text ends (at an interpolation or the closing quote) and how to resolve its escapes, so that strings
and heredocs share one lexer.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from precast.lang.issues import syntax as issues

if TYPE_CHECKING:
    from precast.lang.syntax.lexer import Lexer

# A dollar sign that begins neither a variable nor an expression is plain text.
_LONE_DOLLAR: Final = r"\$(?!\{|(?:::)?\w)"
_ESCAPE: Final = re.compile(r"\\(?:u(?:([0-9A-Fa-f]{4})|\{([0-9A-Fa-f]{1,6})\})|(\r?\n)|((?s:.)))")
_SIMPLE: Final = {"t": "\t", "r": "\r", "n": "\n", "s": " ", "$": "$", "'": "'", '"': '"', "\\": "\\"}
_SINGLE: Final = re.compile(r"\\([\\'])")

ALL_FLAGS: Final = "trnsuL$"


class EscapeSet:
    """The valid escapes of one kind of string, as the flags of heredocs."""

    def __init__(self, flags: str, is_quoted: bool, interpolates: bool = True) -> None:
        self.flags = flags
        self.is_quoted = is_quoted
        stops = ("$" if interpolates else "") + ('"' if is_quoted else "") + ("\\" if flags else "")
        alternatives = []
        if flags:
            escaped = "(?s:.)" if "$" in flags or not interpolates else r"[^$]|(?=\$)"
            # A quoted string cannot end in a lone backslash; the text of a heredoc can.
            alternatives.append(rf"\\(?:{escaped})" if is_quoted else rf"\\(?:{escaped}|\Z)")
        if interpolates:
            alternatives.append(_LONE_DOLLAR)
        plain = f"[^{re.escape(stops)}]*+" if stops else r"(?s:.*)"
        self.plain = re.compile(f"{plain}(?:(?:{'|'.join(alternatives)}){plain})*" if alternatives else plain, re.ASCII)

    def resolve(self, lexer: "Lexer", text: str, start: int) -> str:
        """Resolve the escapes in a text; an invalid escape stays as it is, in a quoted string with a warning."""
        if not self.flags or "\\" not in text:
            return text

        def replace(escape: re.Match[str]) -> str:
            short, long, line_break, char = escape.groups()
            if short or long:
                if "u" not in self.flags:
                    return escape.group()
                code = int(short or long, 16)
                if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                    span = start + escape.start(), start + escape.end()
                    lexer.fail(issues.ILLEGAL_ESCAPE, *span, text=escape.group()[1:])
                return chr(code)
            if line_break:
                return "" if "L" in self.flags else escape.group()
            if char in _SIMPLE and (char in self.flags or char == "\\" or (self.is_quoted and char in "'\"")):
                return _SIMPLE[char]
            if self.is_quoted:
                lexer.warn(_warning(char), start + escape.start(), start + escape.end())
            return escape.group()

        return _ESCAPE.sub(replace, text)


def _warning(char: str) -> str:
    if char == "u":
        return "Unicode escape '\\u' was not followed by 4 hex digits or 1-6 hex digits in {} or was > 10ffff"
    return f"Unrecognized escape sequence '\\{char}'"


DOUBLE_QUOTED: Final = EscapeSet(ALL_FLAGS, is_quoted=True)


@lru_cache(maxsize=256)
def of_heredoc(flags: str, interpolates: bool) -> EscapeSet:
    return EscapeSet(flags, is_quoted=False, interpolates=interpolates)


def unescape_single(text: str) -> str:
    """Resolve the escapes of single quotes: only the quote and the backslash can be escaped."""
    return _SINGLE.sub(r"\1", text)
