"""The text of Ruby code without comments and layout, by which a reader recognises code that it knows."""

import json
from collections.abc import Sequence
from typing import Any

from precast.base import digests
from precast.lang.ruby.syntax.tokens import END, Interpolated, Token


def text(tokens: Sequence[Token], start: int, end: int) -> str:
    """The tokens of a range with a blank between each two; `name:` is written as `:name =>`."""
    return " ".join(_token(token) for token in tokens[start:end] if token.kind not in ("\n", END))


def digest(code: str) -> str:
    """A short digest of code in this form."""
    return digests.of_bytes(code.encode())[:16]


def _token(token: Token) -> str:
    match token.kind:
        case "symbol" if isinstance(token.value, str):
            return f":{token.value}"
        case "label":
            return f":{token.value} =>"
        case "ivar":
            return f"@{token.value}"
        case "string" | "symbol":
            return _string(token.value)
        case "pattern":
            source, flags = token.value
            return f"/{source if isinstance(source, str) else _string(source)}/{flags}"
    return token.kind if token.value is None else _plain(token.value)


def _string(value: Any) -> str:
    if isinstance(value, Interpolated):
        return "".join(
            json.dumps(each) if isinstance(each, str) else f"#{{{text(each, 0, len(each))}}}" for each in value.pieces
        )
    return json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
