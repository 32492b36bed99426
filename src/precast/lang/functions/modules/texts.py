"""Texts: paths, quoting for shells, encodings, letters."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any, Final

from precast.lang.functions.host import Call
from precast.lang.functions.modules.arrays import letters
from precast.lang.functions.modules.declaration import declare, declare_older, wrong
from precast.lang.functions.modules.deprecation import deprecate
from precast.lang.functions.sprintf import sprintf
from precast.lang.ruby.paths import basename, dirname, extname
from precast.lang.ruby.shellwords import shell_escaped, shell_words
from precast.lang.ruby.text import ruby_text
from precast.lang.ruby.values import ruby_class
from precast.lang.values.core import Hash

declare_older("basename", "String path, String suffix?", "The last part of a path, without a suffix if one is given.")(
    basename
)
declare_older("dirname", "String[1] path", "A path without its last part.")(dirname)
declare("stdlib::extname", "String filename >> String", "The extension of a file's name, with its dot.")(extname)


@declare(
    "stdlib::start_with",
    "String text, Variant[String[1], Array[String[1], 1]] prefixes >> Boolean",
    "Whether a text starts with one of these.",
)
def _start_with(text: str, prefixes: Any) -> bool:
    return text.startswith(prefixes)


@declare(
    "stdlib::end_with",
    "String text, Variant[String[1], Array[String[1], 1]] suffixes >> Boolean",
    "Whether a text ends with one of these.",
)
def _end_with(text: str, suffixes: Any) -> bool:
    return text.endswith(suffixes)


_XML: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


@declare(
    "stdlib::xml_encode",
    "String text, Enum['text', 'attr'] type? >> String",
    "A text as it stands in XML: between tags, or in quotes as an attribute.",
)
def _xml_encode(text: str, kind: str = "text") -> str:
    encoded = "".join(_XML.get(char, char) for char in text)
    return encoded if kind == "text" else '"' + encoded.replace('"', "&quot;").replace("'", "&apos;") + '"'


@declare_older(
    "base64",
    "Enum['encode', 'decode'] action, String text, Enum['default', 'strict', 'urlsafe'] method?, Any *rest",
    "Base64 of a text, or the text that it stands for.",
)
def _base64(action: str, text: str, method: str = "default", *rest: Any) -> str:
    if action == "encode":
        return _encoded(text.encode(), method)
    data = text.translate({ord("-"): "+", ord("_"): "/"}) if method == "urlsafe" else text
    if method == "urlsafe" and len(data) % 4:
        data += "=" * (-len(data) % 4)
    try:
        decoded = base64.b64decode(data, validate=True) if method != "default" else _leniently(data)
        return decoded.decode()
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise wrong("base64", f"cannot decode that: {error}") from None


def _encoded(data: bytes, method: str) -> str:
    if method == "default":
        lines = [base64.b64encode(data[at : at + 45]).decode() + "\n" for at in range(0, len(data), 45)]
        return "".join(lines)
    return (base64.urlsafe_b64encode if method == "urlsafe" else base64.b64encode)(data).decode()


def _leniently(text: str) -> bytes:
    """What stands before the first padding, with all that is no base64 left out."""
    letters = re.sub(r"[^A-Za-z0-9+/]", "", text.partition("=")[0])
    letters = letters[:-1] if len(letters) % 4 == 1 else letters
    return base64.b64decode(letters + "=" * (-len(letters) % 4))


@declare("batch_escape", "Any text", "A text in quotes for a Windows batch file.")
def _batch_escape(value: Any) -> str:
    return '"' + re.sub(r'["$\\]', lambda found: '""' if found[0] == '"' else f"\\{found[0]}", ruby_text(value)) + '"'


@declare("powershell_escape", "Any text", "A text as one word of PowerShell.")
def _powershell_escape(value: Any) -> str:
    return re.sub(r"""[ '`|\n$"]""", lambda found: '\\`"' if found[0] == '"' else f"`{found[0]}", ruby_text(value))


@declare("shell_escape", "Any text", "A text as one word of a Bourne shell, special characters after a backslash.")
def _shell_escape(value: Any) -> str:
    return shell_escaped(ruby_text(value))


@declare_older("shell_join", "Array words", "Words as a line of a Bourne shell.")
def _shell_join(words: tuple[Any, ...]) -> str:
    return " ".join(shell_escaped(ruby_text(word)) for word in words)


@declare_older("shell_split", "Any line", "The words of a line of a Bourne shell.")
def _shell_split(line: Any) -> tuple[str, ...]:
    words = shell_words(ruby_text(line))
    if words is None:
        raise wrong("shell_split", f"Unmatched quote: {ruby_text(line)}")
    return tuple(words)


def _of_each(name: str, change: Callable[[str], str], documentation: str) -> None:
    """A function on a text, or on the texts in an array."""

    @declare_older(name, "Variant[Array, String] value, Any *rest", documentation)
    def body(value: Any, *rest: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(change(each) if isinstance(each, str) else each for each in value)
        return change(value)


_UNSAFE: Final = re.compile(r"[^\-_.!~*'()a-zA-Z\d;/?:@&=+$,\[\]]")
_SPECIAL: Final = re.compile(r"[\[\]{}()|\-*.\\?+^$# ]|[\n\t\r\f\v]")
_NAMED: Final = {"\n": "n", "\t": "t", "\r": "r", "\f": "f", "\v": "v"}

_of_each(
    "swapcase",
    str.swapcase,
    "A text, or the texts of an array, with small letters for capitals and capitals for small ones.",
)
_of_each(
    "regexpescape",
    lambda text: _SPECIAL.sub(lambda found: "\\" + _NAMED.get(found[0], found[0]), text),
    "A text as a regular expression that matches it as it is.",
)
_of_each(
    "uriescape",
    lambda text: _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text),
    "A text with the characters that a URI cannot have as %XX.",
)


@declare_older(
    "squeeze",
    "Any value, Any characters?",
    "A text, or the texts of an array, with runs of the same character made one.",
)
def _squeeze(value: Any, characters: Any = False) -> Any:
    if isinstance(value, tuple):
        return tuple(_squeeze(each, characters) for each in value)
    if not isinstance(value, str) or not isinstance(characters, str | bool):
        raise wrong("squeeze", f"Requires a string to work with, got {ruby_class(value)}")
    is_meant = letters("squeeze", characters) if isinstance(characters, str) else lambda char: True
    return re.sub(r"(.)\1+", lambda run: run[1] if is_meant(run[1]) else run[0], value, flags=re.DOTALL)


@declare_older("dos2unix", "String text", "A text with line ends of Unix.")
def _dos2unix(text: str) -> str:
    return text.replace("\r\n", "\n")


@declare_older("unix2dos", "String text", "A text with line ends of Windows.")
def _unix2dos(text: str) -> str:
    return re.sub(r"\r*\n", "\r\n", text)


@declare(
    "sprintf_hash",
    "String format, Hash arguments",
    "Formats named values; the built-in sprintf does it too.",
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
    "A message with values put in; there are no translations.",
    module="translate",
)
def _translate(message: str, values: Hash | None = None) -> str:
    return message if values is None else sprintf(message, [values])
