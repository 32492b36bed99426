"""Data as texts and back: JSON, YAML, TOML, HOCON, and as code of Ruby and Python."""

from typing import Any, Final

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.functions.modules.declaration import declare, declare_older, wrong
from precast.lang.functions.modules.hocon import read_hocon
from precast.lang.hiera.data.documents import read_json, read_yaml
from precast.lang.ruby.json_text import PRETTY, to_json
from precast.lang.ruby.text import ruby_inspect
from precast.lang.ruby.yaml_text import to_yaml
from precast.lang.toml import to_toml
from precast.lang.values.core import Hash, from_data, rich


def _generated(name: str, value: Any, layout: Any) -> str:
    try:
        return to_json(value, layout)
    except ValueError as error:
        raise wrong(name, str(error)) from None


@declare("to_json", "Any data", "Data as JSON, on one line.")
def _to_json(data: Any) -> str:
    return _generated("to_json", data, PRETTY._replace(indent="", space="", object_nl="", array_nl=""))


_OPTIONS: Final = (
    "Struct[{indent => Optional[String], space => Optional[String], space_before => Optional[String], object_nl => Optional[String],"
    " array_nl => Optional[String], allow_nan => Optional[Boolean], max_nesting => Optional[Integer[-1, default]]}]"
)


@declare(
    "to_json_pretty",
    f"Variant[Hash, Array] data, Optional[Boolean] skip_undef?, {_OPTIONS} options?",
    "Data as JSON on many lines, without what is undef at its top if the second argument is true.",
)
def _to_json_pretty(data: Any, skip_undef: bool | None = False, options: Hash = Hash()) -> str:  # noqa: B008 (never changed)
    if skip_undef:
        data = (
            Hash.of(entry for entry in data.items() if entry[1] is not None)
            if isinstance(data, Hash)
            else tuple(item for item in data if item is not None)
        )
    given: dict[str, Any] = {key: options[key] or "" for key in _TEXT_OPTIONS if key in options}
    layout = PRETTY._replace(**given)
    if "max_nesting" in options:
        layout = layout._replace(most_levels=max(options["max_nesting"] or 0, 0))
    return _generated("to_json_pretty", data, layout._replace(allows_nan=options.get("allow_nan") is True)) + "\n"


_TEXT_OPTIONS: Final = ("indent", "space", "space_before", "object_nl", "array_nl")


@declare("to_yaml", "Any data, Hash options?", "Data as YAML; of the options indentation and line_width count.")
def _to_yaml(data: Any, options: Hash = Hash()) -> str:  # noqa: B008 (never changed)
    return to_yaml(data, options.get("indentation"), options.get("line_width"))


@declare("to_toml", "Hash data >> String", "Data as TOML.")
def _to_toml(data: Hash) -> str:
    return to_toml(data)


@declare("to_ruby", "Any data", "Data as code of Ruby.")
def _to_ruby(data: Any) -> str:
    return _as_code(from_data(rich(data)), " => ", {})


@declare("to_python", "Any data", "Data as code of Python.")
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


def _parsed(name: str, read: Any, text: Any, default: Any) -> Any:
    """What a text holds; the default where it holds nothing, or cannot be read."""
    try:
        if not isinstance(text, str):
            raise wrong(name, "takes a text")
        value = read(Source("", text))
    except PrecastError as error:
        if default is None or default is False:
            raise wrong(name, error.message) from None
        return default
    return default if value is None or value is False else value


@declare_older("parsejson", "Any text, Any default?, Any *rest", "Data from JSON; a default where the text is none.")
def _parsejson(text: Any, default: Any = None, *rest: Any) -> Any:
    return _parsed("parsejson", read_json, text, default)


@declare_older("parseyaml", "Any text, Any default?, Any *rest", "Data from YAML; a default where the text is none.")
def _parseyaml(text: Any, default: Any = None, *rest: Any) -> Any:
    return _parsed("parseyaml", read_yaml, text, default)


_NO_DEFAULT: Final = object()


@declare(
    "parsepson", "String[1] text, Any default?", "Data from PSON, which is JSON; a default where the text is none."
)
def _parsepson(text: str, default: Any = _NO_DEFAULT) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        if default is _NO_DEFAULT:
            raise wrong("parsepson", f"source '{text}' not in PSON!")
        return default
    return _read("parsepson", read_json, text, default)


@declare("parsehocon", "String text, Any default?", "Data from HOCON; a default where the text is none.")
def _parsehocon(text: str, default: Any = _NO_DEFAULT) -> Any:
    if text.lstrip().startswith("["):  # a default does not help here: it is HOCON, but no object
        raise wrong("parsehocon", "the text holds a list, not an object")
    return _read("parsehocon", read_hocon, text, default)


def _read(name: str, read: Any, text: str, default: Any) -> Any:
    try:
        return read(Source("", text))
    except PrecastError as error:
        if default is _NO_DEFAULT:
            raise wrong(name, error.message) from None
        return default
