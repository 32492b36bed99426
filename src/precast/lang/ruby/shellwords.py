"""Words of a Bourne shell as Ruby's Shellwords quotes and reads them."""

import re
from typing import Final

_PLAIN: Final = re.compile(r"[^A-Za-z0-9_\-.,:+/@\n]")
_TOKEN: Final = re.compile(r"""\s*(?:([^\s\\'"]+)|'([^']*)'|"((?:[^"\\]|\\.)*)"|(\\.?)|(\S))(\s|\Z)?""", re.DOTALL)
_IN_QUOTES: Final = re.compile(r"""\\([$`"\\\n])""")


def shell_escaped(text: str) -> str:
    """A text as one word: a backslash before what is special, a line end in quotes, nothing as two quotes."""
    return _PLAIN.sub(lambda found: f"\\{found[0]}", text).replace("\n", "'\n'") if text else "''"


def shell_words(line: str) -> list[str] | None:
    """The words of a line; None where a quote is not closed."""
    words, word = [], ""
    for found in _TOKEN.finditer(line):
        plain, single, double, escaped, stray, end = found.groups()
        if stray is not None:
            return None
        quoted = _IN_QUOTES.sub(r"\1", double) if double is not None else None
        word += plain or single or quoted or re.sub(r"\\(.)", r"\1", escaped or "", flags=re.DOTALL)
        if end is not None:
            words.append(word)
            word = ""
    return words
