"""Functions on strings: paths, quoting for shells, encodings, characters."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any, Final

from precast.lang.functions.host import Call
from precast.lang.functions.modules.arrays import parse_characters
from precast.lang.functions.modules.declaration import argument_error, declare, declare_legacy
from precast.lang.functions.modules.deprecation import deprecate
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import ruby_class
from precast.lang.ruby.stdlib.paths import basename, dirname, extname
from precast.lang.ruby.stdlib.shellwords import escape_shell_word, shell_words
from precast.lang.ruby.stdlib.sprintf import sprintf
from precast.lang.values.base import Hash

declare_legacy(
    "basename", "String path, String suffix?", "Returns the last part of a path, without a suffix if one is given."
)(basename)
declare_legacy("dirname", "String[1] path", "Returns a path without its last part.")(dirname)
declare("stdlib::extname", "String filename >> String", "Returns the extension of a file name with its dot.")(extname)


@declare(
    "stdlib::start_with",
    "String text, Variant[String[1], Array[String[1], 1]] prefixes >> Boolean",
    "Returns whether a text starts with one of the prefixes.",
)
def _start_with(text: str, prefixes: Any) -> bool:
    return text.startswith(prefixes)


@declare(
    "stdlib::end_with",
    "String text, Variant[String[1], Array[String[1], 1]] suffixes >> Boolean",
    "Returns whether a text ends with one of the suffixes.",
)
def _end_with(text: str, suffixes: Any) -> bool:
    return text.endswith(suffixes)


_XML: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


@declare(
    "stdlib::xml_encode",
    "String text, Enum['text', 'attr'] type? >> String",
    "Encodes a text for XML: between tags, or in quotes as an attribute.",
)
def _xml_encode(text: str, kind: str = "text") -> str:
    encoded = "".join(_XML.get(char, char) for char in text)
    return encoded if kind == "text" else '"' + encoded.replace('"', "&quot;").replace("'", "&apos;") + '"'


@declare_legacy(
    "base64",
    "Enum['encode', 'decode'] action, String text, Enum['default', 'strict', 'urlsafe'] method?, Any *rest",
    "Encodes or decodes a text with Base64.",
)
def _base64(action: str, text: str, method: str = "default", *rest: Any) -> str:
    if action == "encode":
        return _encode_base64(text.encode(), method)
    data = text.translate({ord("-"): "+", ord("_"): "/"}) if method == "urlsafe" else text
    if method == "urlsafe" and len(data) % 4:
        data += "=" * (-len(data) % 4)
    try:
        decoded = base64.b64decode(data, validate=True) if method != "default" else _decode_leniently(data)
        return decoded.decode()
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise argument_error("base64", f"cannot decode the text: {error}") from None


def _encode_base64(data: bytes, method: str) -> str:
    if method == "default":
        lines = [base64.b64encode(data[at : at + 45]).decode() + "\n" for at in range(0, len(data), 45)]
        return "".join(lines)
    return (base64.urlsafe_b64encode if method == "urlsafe" else base64.b64encode)(data).decode()


def _decode_leniently(text: str) -> bytes:
    """Decode the text before the first padding without the characters that are not Base64."""
    letters = re.sub(r"[^A-Za-z0-9+/]", "", text.partition("=")[0])
    letters = letters[:-1] if len(letters) % 4 == 1 else letters
    return base64.b64decode(letters + "=" * (-len(letters) % 4))


@declare("batch_escape", "Any text", "Quotes a text for a Windows batch file.")
def _batch_escape(value: Any) -> str:
    return '"' + re.sub(r'["$\\]', lambda match: '""' if match[0] == '"' else f"\\{match[0]}", ruby_text(value)) + '"'


@declare("powershell_escape", "Any text", "Escapes a text as one word of PowerShell.")
def _powershell_escape(value: Any) -> str:
    return re.sub(r"""[ '`|\n$"]""", lambda match: '\\`"' if match[0] == '"' else f"`{match[0]}", ruby_text(value))


@declare(
    "shell_escape",
    "Any text",
    "Escapes a text as one word of a Bourne shell, with backslashes before special characters.",
)
def _shell_escape(value: Any) -> str:
    return escape_shell_word(ruby_text(value))


@declare_legacy("shell_join", "Array words", "Joins words to a line for a Bourne shell.")
def _shell_join(words: tuple[Any, ...]) -> str:
    return " ".join(escape_shell_word(ruby_text(word)) for word in words)


@declare_legacy("shell_split", "Any line", "Splits a line into words as a Bourne shell does.")
def _shell_split(line: Any) -> tuple[str, ...]:
    words = shell_words(ruby_text(line))
    if words is None:
        raise argument_error("shell_split", f"Unmatched quote: {ruby_text(line)}")
    return tuple(words)


def _declare_for_each(name: str, change: Callable[[str], str], documentation: str) -> None:
    """Declare a function on a text, or on the texts in an array."""

    @declare_legacy(name, "Variant[Array, String] value, Any *rest", documentation)
    def body(value: Any, *rest: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(change(item) if isinstance(item, str) else item for item in value)
        return change(value)


_UNSAFE: Final = re.compile(r"[^\-_.!~*'()a-zA-Z\d;/?:@&=+$,\[\]]")
_SPECIAL: Final = re.compile(r"[\[\]{}()|\-*.\\?+^$# ]|[\n\t\r\f\v]")
_NAMED: Final = {"\n": "n", "\t": "t", "\r": "r", "\f": "f", "\v": "v"}

_declare_for_each(
    "swapcase",
    str.swapcase,
    "Swaps upper and lower case in a text, or in the texts of an array.",
)
_declare_for_each(
    "regexpescape",
    lambda text: _SPECIAL.sub(lambda match: "\\" + _NAMED.get(match[0], match[0]), text),
    "Escapes a text so that a regular expression matches it literally.",
)
_declare_for_each(
    "uriescape",
    lambda text: _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text),
    "Escapes the characters of a text that are not allowed in a URI as %XX.",
)


@declare_legacy(
    "squeeze",
    "Any value, Any characters?",
    "Replaces runs of the same character by one, in a text or in the texts of an array.",
)
def _squeeze(value: Any, characters: Any = False) -> Any:
    if isinstance(value, tuple):
        return tuple(_squeeze(item, characters) for item in value)
    if not isinstance(value, str) or not isinstance(characters, str | bool):
        raise argument_error("squeeze", f"Requires a string to work with, got {ruby_class(value)}")
    is_squeezed = parse_characters("squeeze", characters) if isinstance(characters, str) else lambda char: True
    return re.sub(r"(.)\1+", lambda run: run[1] if is_squeezed(run[1]) else run[0], value, flags=re.DOTALL)


@declare_legacy("dos2unix", "String text", "Converts line ends to those of Unix.")
def _dos2unix(text: str) -> str:
    return text.replace("\r\n", "\n")


@declare_legacy("unix2dos", "String text", "Converts line ends to those of Windows.")
def _unix2dos(text: str) -> str:
    return re.sub(r"\r*\n", "\r\n", text)


@declare(
    "sprintf_hash",
    "String format, Hash arguments",
    "Formats named values, as the built-in sprintf does.",
    pure=False,
)
def _sprintf_hash(call: Call, text: str, arguments: Hash) -> str:
    deprecate(
        call,
        "sprintf_hash",
        "This method is deprecated. From Puppet 4.10.10/5.3.4 please use the built-in sprintf instead",
    )
    return sprintf(text, [arguments])


@declare(
    "translate",
    "String message, Hash values?",
    "Fills values into a message; there are no translations.",
    module="translate",
)
def _translate(message: str, values: Hash | None = None) -> str:
    return message if values is None else sprintf(message, [values])
