"""What a type follows by itself, where its block says so in plain words: titles, and attributes of the resource."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from precast.lang.ruby.code.code import Code, symbol_text
from precast.lang.ruby.code.outline import Block
from precast.lang.ruby.syntax.lexer import Token
from precast.types.declaration import AutoRelation

_MODIFIERS = frozenset(("if", "unless"))
_QUIET = frozenset(("[", "]", ",", "\n", "return"))


def auto_relation(code: Code, type_name: str, kind: str, block: Block, names: Mapping[str, Any]) -> AutoRelation | None:
    """The relation that a block of one statement states; None for what is worked out on the node."""
    if len(block.statements) != 1:
        return None
    statement = block.statements[0]
    tokens = code.tokens[statement.start : statement.end]
    for at, token in enumerate(tokens):
        if token.sort in _MODIFIERS:
            tokens = tokens[:at]
            break
    titles: list[str] = []
    attributes: list[str] = []
    at = 0
    while at < len(tokens):
        attribute = _own_attribute(tokens[at : at + 4], names)
        if attribute is not None:
            attributes.append(attribute)
            at += 4
            continue
        token = tokens[at]
        if token.sort == "string" and isinstance(token.value, str):
            titles.append(token.value)
        elif token.sort == "words":
            titles += token.value[0]
        elif token.sort not in _QUIET:
            return None
        at += 1
    if not titles and not attributes:
        return None
    direction = cast('Literal["require", "before"]', kind)
    return AutoRelation(type_name, tuple(attributes), kind=direction, titles=tuple(titles))


def _own_attribute(tokens: list[Token], names: Mapping[str, Any]) -> str | None:
    """The attribute in `self[:name]`, also where the name is that of a loop."""
    if [token.sort for token in tokens[:2]] != ["self", "["] or len(tokens) < 4 or tokens[3].sort != "]":
        return None
    if tokens[2].sort == "name":
        known = names.get(str(tokens[2].value))
        return getattr(known, "name", None)
    return symbol_text(tokens[2])
