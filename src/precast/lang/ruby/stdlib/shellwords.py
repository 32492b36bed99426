"""Words of a Bourne shell as Ruby's Shellwords quotes and reads them."""

import re
from typing import Final

_SPECIAL: Final = re.compile(r"[^A-Za-z0-9_\-.,:+/@\n]")
_TOKEN: Final = re.compile(r"""\s*(?:([^\s\\'"]+)|'([^']*)'|"((?:[^"\\]|\\.)*)"|(\\.?)|(\S))(\s|\Z)?""", re.DOTALL)
_IN_QUOTES: Final = re.compile(r"""\\([$`"\\\n])""")


def escape_shell_word(text: str) -> str:
    """Return a text as one word: special characters after a backslash, line ends in quotes, the empty text as two quotes."""
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", text).replace("\n", "'\n'") if text else "''"


def shell_words(line: str) -> list[str] | None:
    """Return the words of a line, None if a quote is not closed."""
    words, word = [], ""
    for match in _TOKEN.finditer(line):
        plain, single, double, escaped, stray, end = match.groups()
        if stray is not None:
            return None
        quoted = _IN_QUOTES.sub(r"\1", double) if double is not None else None
        word += plain or single or quoted or re.sub(r"\\(.)", r"\1", escaped or "", flags=re.DOTALL)
        if end is not None:
            words.append(word)
            word = ""
    return words
