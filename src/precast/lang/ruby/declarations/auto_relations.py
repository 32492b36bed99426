"""Reads `autorequire` and the like, where the block names only titles and attributes of the resource."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from precast.lang.ruby.declarations.outline import Block
from precast.lang.ruby.declarations.ruby_file import RubyFile, symbol_text
from precast.lang.ruby.syntax.tokens import Interpolated, Token
from precast.types.declaration import AutoRelation

_MODIFIERS = frozenset(("if", "unless"))
_IGNORED = frozenset(("[", "]", ",", "\n", "return"))


def auto_relation(
    file: RubyFile, type_name: str, kind: str, block: Block, names: Mapping[str, Any]
) -> AutoRelation | None:
    """Return the relation that a block of one statement declares, None if the block computes it."""
    if len(block.statements) != 1:
        return None
    statement = block.statements[0]
    tokens = file.tokens[statement.start : statement.end]
    for at, token in enumerate(tokens):
        if token.kind in _MODIFIERS:
            tokens = tokens[:at]
            break
    titles: list[str] = []
    formats: list[tuple[str, ...]] = []
    attributes: list[str] = []
    at = 0
    while at < len(tokens):
        attribute = _own_attribute(tokens[at : at + 4], names)
        if attribute is not None:
            attributes.append(attribute)
            at += 4
            continue
        token = tokens[at]
        if token.kind == "string" and isinstance(token.value, str):
            titles.append(token.value)
        elif token.kind == "string" and (parts := _format(token.value, names)) is not None:
            formats.append(parts)
        elif token.kind == "words":
            titles += token.value[0]
        elif token.kind not in _IGNORED:
            return None
        at += 1
    if not titles and not formats and not attributes:
        return None
    direction = cast('Literal["require", "before"]', kind)
    return AutoRelation(type_name, tuple(attributes), kind=direction, titles=tuple(titles), formats=tuple(formats))


def _format(text: Any, names: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the texts and attributes of a string such as `"svc-#{self[:name]}"`; None if other code is in it."""
    if not isinstance(text, Interpolated):
        return None
    parts: list[str] = [""]
    for piece in text.pieces:
        if isinstance(piece, str):
            parts[-1] += piece
            continue
        attribute = _own_attribute(piece[:4], names)
        if attribute is None or len(piece) != 5:  # four tokens and the end
            return None
        parts += [attribute, ""]
    return tuple(parts)


def _own_attribute(tokens: list[Token], names: Mapping[str, Any]) -> str | None:
    """Return the attribute in `self[:name]`, also if `name` is the variable of a loop."""
    if [token.kind for token in tokens[:2]] != ["self", "["] or len(tokens) < 4 or tokens[3].kind != "]":
        return None
    if tokens[2].kind == "name":
        known = names.get(str(tokens[2].value))
        return getattr(known, "name", None)
    return symbol_text(tokens[2])
