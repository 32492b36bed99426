"""Chooses random values for a declared type, guided by a parameter's default if the type is vague.

`NoChoice` means that no sensible value can be chosen, and the parameter is left out.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

from lab.differential import module_declarations
from precast.lang.syntax import ast

MAX_DEPTH = 6
WORDS = ("alpha", "beta", "gamma", "delta", "www", "main", "on", "daily", "root", "nobody", "x86_64", "info")
# Values for types that a pattern defines, by the type's name.
KNOWN: dict[str, Sequence[Any]] = {
    "stdlib::absolutepath": ("/srv/data", "/var/lib/x", "/etc/x.conf"),
    "stdlib::unixpath": ("/srv/data", "/opt/app/bin", "/etc/x.conf"),
    "stdlib::filemode": ("0644", "0600", "0755", "0640"),
    "stdlib::httpurl": ("http://mirror.example.test/x",),
    "stdlib::httpsurl": ("https://mirror.example.test/x",),
    "stdlib::fqdn": ("a.example.test", "b.example.test"),
    "stdlib::host": ("a.example.test", "10.1.2.3"),
    "stdlib::filesource": ("puppet:///modules/profile/x", "/srv/x"),
    "stdlib::email": ("root@example.test",),
    "stdlib::syslogfacility": ("local0", "daemon"),
    "stdlib::yes_no": ("yes", "no"),
    "stdlib::ip::address": ("10.2.3.4", "fe80::9"),
    "stdlib::ip::address::v4": ("10.2.3.4",),
    "stdlib::ip::address::nosubnet": ("10.2.3.4",),
    "stdlib::ip::address::v4::nosubnet": ("10.2.3.4",),
    "stdlib::ip::address::v6": ("fe80::9",),
    "stdlib::ip::address::v6::nosubnet": ("fe80::9",),
    "stdlib::mac": ("52:54:00:00:00:09",),
}


class NoChoice(Exception):
    """No sensible value can be chosen."""


class Chooser:
    """Chooses values; the same seed gives the same values."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._depth = 0

    def value(self, parameter: ast.Parameter) -> Any:
        """A value for a parameter. Raises NoChoice."""
        if parameter.type_expr is None:
            return self._like(parameter.default)
        if self._is_vague(parameter.type_expr):
            return self._like(parameter.default)
        return self.of(parameter.type_expr)

    def of(self, kind: ast.Expression) -> Any:
        """A value of a type. Raises NoChoice."""
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise NoChoice
            if isinstance(kind, ast.QualifiedReference):
                return self._named(kind.name.lower(), ())
            if isinstance(kind, ast.Access) and isinstance(kind.left, ast.QualifiedReference):
                return self._named(kind.left.name.lower(), kind.keys)
            raise NoChoice
        finally:
            self._depth -= 1

    @staticmethod
    def _is_vague(kind: ast.Expression) -> bool:
        """Whether a type accepts any text: then only a default shows which values are sensible."""
        if isinstance(kind, ast.Access) and isinstance(kind.left, ast.QualifiedReference):
            inner = kind.keys[0] if kind.keys else None
            if kind.left.name in ("Optional", "Sensitive") and inner is not None:
                return Chooser._is_vague(inner)
            return kind.left.name == "String"
        return isinstance(kind, ast.QualifiedReference) and kind.name in ("String", "Any", "Data", "Scalar")

    def _like(self, default: ast.Expression | None) -> Any:
        """A different value of the same kind as a default."""
        if isinstance(default, ast.LiteralBoolean):
            return self._chance.random() < 0.5
        if isinstance(default, ast.LiteralInteger):
            return max(0, default.value + self._chance.randrange(1, 10))
        if isinstance(default, ast.LiteralString | ast.QualifiedName):
            return self._text_like(default.value)
        raise NoChoice

    def _text_like(self, text: str) -> str:
        if text.isdigit():
            return str(int(text) + self._chance.randrange(1, 10))
        if text.startswith("/"):
            return f"{text.rstrip('/')}-{self._chance.choice('abc')}"
        return text or self._chance.choice(WORDS)

    def _named(self, name: str, keys: Sequence[ast.Expression]) -> Any:
        if name in KNOWN:
            return self._chance.choice(KNOWN[name])
        maker = MAKERS.get(name)
        if maker is not None:
            return maker(self, keys)
        target = module_declarations.alias(name) if "::" in name else None
        if target is None:
            raise NoChoice
        return self.of(target)

    def _any_of(self, kinds: Sequence[ast.Expression]) -> Any:
        """A value of the first type, in random order, for which one can be chosen."""
        order = list(kinds)
        self._chance.shuffle(order)
        for kind in order:
            try:
                return self.of(kind)
            except NoChoice:
                continue
        raise NoChoice

    def boolean(self, _: Sequence[ast.Expression]) -> Any:
        return self._chance.random() < 0.5

    def integer(self, keys: Sequence[ast.Expression]) -> Any:
        low = _number(keys[0]) if keys else None
        high = _number(keys[1]) if len(keys) > 1 else None
        start = 0 if low is None else low
        return self._chance.randint(start, start + 100 if high is None else min(high, start + 10_000))

    def number(self, keys: Sequence[ast.Expression]) -> Any:
        return float(self.integer(())) / 4

    def text(self, _: Sequence[ast.Expression]) -> Any:
        return self._chance.choice(WORDS)

    def enum(self, keys: Sequence[ast.Expression]) -> Any:
        texts = [key.value for key in keys if isinstance(key, ast.LiteralString | ast.QualifiedName)]
        if not texts:
            raise NoChoice
        return self._chance.choice(texts)

    def variant(self, keys: Sequence[ast.Expression]) -> Any:
        return self._any_of(keys)

    def optional(self, keys: Sequence[ast.Expression]) -> Any:
        if not keys:
            raise NoChoice
        if isinstance(keys[0], ast.LiteralString):
            return keys[0].value
        return self.of(keys[0])

    def array(self, keys: Sequence[ast.Expression]) -> Any:
        least = _number(keys[1]) if len(keys) > 1 else 0
        count = max(least or 0, self._chance.randrange(0, 3))
        kind = keys[0] if keys else None
        if kind is None:
            return [self.text(()) for _ in range(count)]
        return _without_repeats([self.of(kind) for _ in range(count)])

    def table(self, keys: Sequence[ast.Expression]) -> Any:
        if len(keys) < 2:
            return {}
        return {self.of(keys[0]): self.of(keys[1]) for _ in range(self._chance.randrange(0, 3))}

    def struct(self, keys: Sequence[ast.Expression]) -> Any:
        if not keys or not isinstance(keys[0], ast.LiteralHash):
            raise NoChoice
        values: dict[str, Any] = {}
        for entry in keys[0].entries:
            name, is_optional = _member(entry.key)
            if is_optional and self._chance.random() < 0.6:
                continue
            try:
                values[name] = self.of(entry.value)
            except NoChoice:
                if not is_optional:
                    raise
        return values


def _member(key: ast.Expression) -> tuple[str, bool]:
    is_optional = isinstance(key, ast.Access)
    inner = key.keys[0] if isinstance(key, ast.Access) and key.keys else key
    if isinstance(inner, ast.LiteralString | ast.QualifiedName):
        return inner.value, is_optional
    raise NoChoice


def _number(node: ast.Expression) -> int | None:
    return node.value if isinstance(node, ast.LiteralInteger) else None


def _without_repeats(values: list[Any]) -> list[Any]:
    return [value for index, value in enumerate(values) if value not in values[:index]]


MAKERS: dict[str, Callable[[Chooser, Sequence[ast.Expression]], Any]] = {
    "boolean": Chooser.boolean,
    "integer": Chooser.integer,
    "numeric": Chooser.integer,
    "float": Chooser.number,
    "string": Chooser.text,
    "enum": Chooser.enum,
    "variant": Chooser.variant,
    "optional": Chooser.optional,
    "array": Chooser.array,
    "hash": Chooser.table,
    "struct": Chooser.struct,
}
