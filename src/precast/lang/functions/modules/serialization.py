"""Functions that write and read data as JSON, YAML, TOML and HOCON, and write it as code of Ruby and Python."""

from typing import Any, Final

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.functions.modules.declaration import argument_error, declare, declare_legacy
from precast.lang.functions.modules.hocon import read_hocon
from precast.lang.hiera.data.documents import read_json, read_yaml
from precast.lang.ruby.puppet_text import ruby_inspect
from precast.lang.ruby.stdlib.json_text import PRETTY, to_json
from precast.lang.ruby.stdlib.yaml_text import to_yaml
from precast.lang.toml import to_toml
from precast.lang.values.base import Hash, from_data, rich


def _generate_json(name: str, value: Any, layout: Any) -> str:
    try:
        return to_json(value, layout)
    except ValueError as error:
        raise argument_error(name, str(error)) from None


@declare("to_json", "Any data", "Writes data as JSON on one line.")
def _to_json(data: Any) -> str:
    return _generate_json("to_json", data, PRETTY._replace(indent="", space="", object_nl="", array_nl=""))


_OPTIONS: Final = (
    "Struct[{indent => Optional[String], space => Optional[String], space_before => Optional[String], object_nl => Optional[String],"
    " array_nl => Optional[String], allow_nan => Optional[Boolean], max_nesting => Optional[Integer[-1, default]]}]"
)


@declare(
    "to_json_pretty",
    f"Variant[Hash, Array] data, Optional[Boolean] skip_undef?, {_OPTIONS} options?",
    "Writes data as JSON on several lines; if the second argument is true, without undef values at its top level.",
)
def _to_json_pretty(data: Any, skip_undef: bool | None = False, options: Hash = Hash()) -> str:  # noqa: B008 (immutable)
    if skip_undef:
        data = (
            Hash.of(entry for entry in data.items() if entry[1] is not None)
            if isinstance(data, Hash)
            else tuple(item for item in data if item is not None)
        )
    given: dict[str, Any] = {key: options[key] or "" for key in _TEXT_OPTIONS if key in options}
    layout = PRETTY._replace(**given)
    if "max_nesting" in options:
        layout = layout._replace(max_nesting=max(options["max_nesting"] or 0, 0))
    return _generate_json("to_json_pretty", data, layout._replace(allows_nan=options.get("allow_nan") is True)) + "\n"


_TEXT_OPTIONS: Final = ("indent", "space", "space_before", "object_nl", "array_nl")


@declare("to_yaml", "Any data, Hash options?", "Writes data as YAML; the options are indentation and line_width.")
def _to_yaml(data: Any, options: Hash = Hash()) -> str:  # noqa: B008 (immutable)
    return to_yaml(data, options.get("indentation"), options.get("line_width"))


@declare("to_toml", "Hash data >> String", "Writes data as TOML.")
def _to_toml(data: Hash) -> str:
    return to_toml(data)


@declare("to_ruby", "Any data", "Writes data as Ruby code.")
def _to_ruby(data: Any) -> str:
    return _as_code(from_data(rich(data)), " => ", {})


@declare("to_python", "Any data", "Writes data as Python code.")
def _to_python(data: Any) -> str:
    return _as_code(from_data(rich(data)), ": ", {None: "None", True: "True", False: "False"})


def _as_code(value: Any, between: str, words: dict[Any, str]) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_as_code(item, between, words) for item in value)}]"
    if isinstance(value, Hash):
        entries = (
            f"{_as_code(key, between, words)}{between}{_as_code(item, between, words)}" for key, item in value.items()
        )
        return f"{{{', '.join(entries)}}}"
    if value is None or isinstance(value, bool):
        return words.get(value, ruby_inspect(value))
    return ruby_inspect(value)


def _parse_or_default(name: str, read: Any, text: Any, default: Any) -> Any:
    """Return the data of a text, or the default if the text is empty or invalid."""
    try:
        if not isinstance(text, str):
            raise argument_error(name, "expects a text")
        value = read(Source("", text))
    except PrecastError as error:
        if default is None or default is False:
            raise argument_error(name, error.message) from None
        return default
    return default if value is None or value is False else value


@declare_legacy(
    "parsejson", "Any text, Any default?, Any *rest", "Reads data from JSON; returns a default if the text is not JSON."
)
def _parsejson(text: Any, default: Any = None, *rest: Any) -> Any:
    return _parse_or_default("parsejson", read_json, text, default)


@declare_legacy(
    "parseyaml", "Any text, Any default?, Any *rest", "Reads data from YAML; returns a default if the text is not YAML."
)
def _parseyaml(text: Any, default: Any = None, *rest: Any) -> Any:
    return _parse_or_default("parseyaml", read_yaml, text, default)


_NO_DEFAULT: Final = object()


@declare(
    "parsepson",
    "String[1] text, Any default?",
    "Reads data from PSON, which is JSON; returns a default if the text is not PSON.",
)
def _parsepson(text: str, default: Any = _NO_DEFAULT) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        if default is _NO_DEFAULT:
            raise argument_error("parsepson", f"source '{text}' not in PSON!")
        return default
    return _read("parsepson", read_json, text, default)


@declare(
    "parsehocon", "String text, Any default?", "Reads data from HOCON; returns a default if the text is not HOCON."
)
def _parsehocon(text: str, default: Any = _NO_DEFAULT) -> Any:
    if text.lstrip().startswith("["):  # valid HOCON, but not an object: the default does not apply
        raise argument_error("parsehocon", "the text is a list, not an object")
    return _read("parsehocon", read_hocon, text, default)


def _read(name: str, read: Any, text: str, default: Any) -> Any:
    try:
        return read(Source("", text))
    except PrecastError as error:
        if default is _NO_DEFAULT:
            raise argument_error(name, error.message) from None
        return default
