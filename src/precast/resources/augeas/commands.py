"""The commands in `changes` and `onlyif`, split into words as Puppet's provider splits them, and the changes done in a tree.

Paths may have brackets and quotes with blanks in them; a relative path is put behind the context. A word in quotes loses them, and only
the quote itself is unescaped in it, because Augeas reads other backslashes.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from precast.resources import issues_modules as issues
from precast.resources.augeas.library import Tree

Command = list[Any]

_PATH, _STRING, _COMPARATOR, _INTEGER, _REST = "path", "string", "comparator", "integer", "rest"
_FORMS: Final[dict[str, tuple[str, ...]]] = {
    "set": (_PATH, _STRING),
    "setm": (_PATH, _STRING, _STRING),
    "rm": (_PATH,),
    "remove": (_PATH,),
    "clear": (_PATH,),
    "clearm": (_PATH, _STRING),
    "touch": (_PATH,),
    "mv": (_PATH, _PATH),
    "move": (_PATH, _PATH),
    "rename": (_PATH, _STRING),
    "insert": (_STRING, _STRING, _PATH),
    "ins": (_STRING, _STRING, _PATH),
    "get": (_PATH, _COMPARATOR, _STRING),
    "values": (_PATH, _REST),
    "defvar": (_STRING, _PATH),
    "defnode": (_STRING, _PATH, _STRING),
    "match": (_PATH, _REST),
    "size": (_COMPARATOR, _INTEGER),
    "include": (_STRING,),
    "not_include": (_STRING,),
    "==": (_REST,),
    "!=": (_REST,),
}
_NAME: Final = re.compile(r"[A-Za-z0-9_]+|==|!=")
_BLANKS: Final = re.compile(r"[ \t\r\n\f\v]*")
_PLAIN_PATH: Final = re.compile(r"""(?:[^\]\[ \t\r\n\f\v\\'"]|\\.)+""")
_WORD: Final = re.compile(r"[^ \t\r\n\f\v]+")
_COMPARE: Final = re.compile(r"==|!=|=~|<=|>=|<|>")
_DIGITS: Final = re.compile(r"[0-9]+")
_QUOTED: Final = {quote: re.compile(rf"(?:[^\\{quote}]|\\.)*") for quote in "'\""}


def parse_commands(data: Any, context: str) -> list[Command]:
    """The commands in a text of several lines, or in an array of commands. Raises InputError RESOURCE-232."""
    if context and not context.endswith("/"):
        context += "/"
    lines = data.split("\n") if isinstance(data, str) else _flatten(data)
    return [_Line(line.strip(" \t\r\n\f\v\0"), context).parse() for line in lines if line.strip()]


def _flatten(data: Any) -> list[str]:
    if isinstance(data, list | tuple):
        return [line for item in data for line in _flatten(item)]
    return [] if data is None else [str(data)]


class _Line:
    """One command with its arguments."""

    def __init__(self, text: str, context: str) -> None:
        self._text = text
        self._context = context
        self._at = 0

    def parse(self) -> Command:
        name = self._scan(_NAME)
        if name is None or name not in _FORMS:
            raise self._error(f"there is no command {name or self._text.split()[0]}")
        words: Command = [name]
        for number, form in enumerate(_FORMS[name], 1):
            self._scan(_BLANKS)
            words.append(self._argument(form, number, name))
        return words

    def _argument(self, form: str, number: int, name: str) -> Any:
        if form == _PATH:
            return self._path()
        if form == _REST:
            return self._text[self._at :]
        pattern = {_STRING: _WORD, _COMPARATOR: _COMPARE, _INTEGER: _DIGITS}[form]
        is_quoted = form == _STRING and self._text[self._at : self._at + 1] in _QUOTED
        word = self._quoted() if is_quoted else self._scan(pattern)
        if word is None:
            raise self._error(f"{name} lacks its argument {number}, a {form}")
        return int(word) if form == _INTEGER else word

    def _scan(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match[0]

    def _quoted(self) -> str:
        quote = self._text[self._at]
        self._at += 1
        word = self._scan(_QUOTED[quote]) or ""
        self._at += 1
        return word.replace(f"\\{quote}", quote)

    def _path(self) -> str:
        path = self._read_path()
        if path[:1] in ("'", '"'):
            path = path[1:-1]
        path = path.removesuffix("/")
        return path if path[:1] in ("$", "/") else self._context + path

    def _read_path(self) -> str:
        """Read to the next blank outside of brackets and quotes."""
        start, depth, quotes = self._at, 0, {"'": False, '"': False}
        while self._at < len(self._text):
            self._scan(_PLAIN_PATH)
            sign = self._text[self._at : self._at + 1]
            self._at += 1
            depth += {"[": 1, "]": -1}.get(sign, 0)
            if sign in quotes:
                quotes[sign] = not quotes[sign]
            if depth < 0:
                raise self._error("a ] closes nothing")
            if depth == 0 and not any(quotes.values()) and sign and sign.isspace():
                return self._text[start : self._at - 1]
        return self._text[start:]

    def _error(self, reason: str) -> Exception:
        return issues.BAD_AUGEAS_COMMAND.error(command=self._text, reason=reason)


def _touch(tree: Tree, path: str) -> None:
    if not tree.match(path):
        tree.set(path, None)


def _insert(tree: Tree, label: str, where: str, path: str) -> None:
    if where not in ("before", "after"):
        raise issues.BAD_AUGEAS_COMMAND.error(command=f"ins {label} {where} {path}", reason="it is before or after")
    tree.insert(path, label, where == "before")


_ACTIONS: Final[dict[str, Callable[..., None]]] = {
    "set": Tree.set,
    "setm": Tree.set_many,
    "rm": Tree.remove,
    "clear": lambda tree, path: tree.set(path, None),
    "clearm": lambda tree, path, below: tree.set_many(path, below, None),
    "touch": _touch,
    "mv": Tree.move,
    "rename": Tree.rename,
    "ins": _insert,
    "defvar": Tree.define_variable,
    "defnode": Tree.define_node,
}
_SYNONYMS: Final = {"remove": "rm", "move": "mv", "insert": "ins"}
# Commands after which a tree may be equal, and yet another text is written: blanks and comments of removed nodes are lost.
RESTRUCTURING: Final = frozenset({"rm", "remove", "mv", "move", "rename", "ins", "insert"})


def execute(tree: Tree, command: Command) -> None:
    """Do one change in the tree. Raises InputError RESOURCE-231 and RESOURCE-232."""
    name: str = command[0]
    action = _ACTIONS.get(_SYNONYMS.get(name, name))
    if action is None:
        raise issues.BAD_AUGEAS_COMMAND.error(command=" ".join(map(str, command)), reason="it changes nothing")
    action(tree, *command[1:])
