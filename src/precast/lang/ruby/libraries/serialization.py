"""JSON, PSON and YAML: methods that write values and read texts."""

import json
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.ruby.errors import raised
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import call_method, method, of_class, responds_to, to_str
from precast.lang.ruby.objects import Constant, Proc, RubyObject
from precast.lang.ruby.stdlib.json_text import PRETTY, to_json
from precast.lang.ruby.stdlib.yaml_text import to_yaml
from precast.lang.ruby.values import Symbol, class_name, from_ruby, plain_key, to_ruby, to_s
from precast.lang.values.base import Hash

Args = list[Any]


@method("Object", "to_json", "to_pson")
def _to_json(execution: Execution, this: Any, args: Args, block: Proc | None) -> str:
    return to_json(_to_data(execution, this))


@method("Object", "to_yaml")
def _to_yaml(execution: Execution, this: Any, args: Args, block: Proc | None) -> str:
    return to_yaml(_to_data(execution, this))


def _to_data(execution: Execution, value: Any) -> Any:
    """Return a value as JSON and YAML write it: symbols as their names, and no unknowns. Raises TypeError for other objects."""
    data = from_ruby(_plain(execution, execution.resolve(value)))
    _check_writable(data)
    return data


def _plain(execution: Execution, value: Any) -> Any:
    """Return a value with objects of the code as the hashes that their `to_h` gives."""
    if isinstance(value, list):
        return [_plain(execution, item) for item in value]
    if isinstance(value, dict):
        return {
            to_s(plain_key(key)) if isinstance(key, Symbol) else key: _plain(execution, item)
            for key, item in value.items()
        }
    if isinstance(value, RubyObject) and responds_to(execution, value, "to_h"):
        return _plain(execution, call_method(execution, value, "to_h", [], None))
    return value


def _check_writable(value: Any) -> None:
    if isinstance(value, tuple):
        for item in value:
            _check_writable(item)
    elif isinstance(value, Hash):
        for item in value.values():
            _check_writable(item)
    elif value is not None and not isinstance(value, str | int | float):
        raise TypeError(f"{class_name(value)} has no form there")


@of_class("JSON PSON", "pretty_generate")
def _pretty_generate(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return to_json(_to_data(execution, args[0]), PRETTY)


@of_class("JSON PSON", "generate", "dump", "fast_generate")
def _generate(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return to_json(_to_data(execution, args[0]))


@of_class("YAML Psych", "dump")
def _dump(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return to_yaml(_to_data(execution, args[0]))


@of_class("JSON PSON Puppet::Util::Json", "parse", "load", "parse!")
def _parse_json(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    if args[0] is None and this.name != "Puppet::Util::Json":
        raise TypeError("no implicit conversion of nil into String")
    text = to_str(args[0])
    if this.name == "PSON":
        _require_pson(text)
    options = args[1] if len(args) > 1 and isinstance(args[1], dict) else {}
    as_symbols = options.get(Symbol("symbolize_names")) is True
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        kind = "PSON::ParserError" if this.name == "PSON" else "JSON::ParserError"
        raise raised(kind, f"unexpected token at '{text[:200]}'") from None
    return _from_json(value, as_symbols)


def _require_pson(text: str) -> None:
    """PSON is an object or an array, where JSON may be any value."""
    if not text.strip():
        raise raised("PSON::ParserError", "source did not contain any PSON!")
    if text.lstrip()[0] not in "{[":
        raise raised("PSON::ParserError", f"source '{text[:200]}' not in PSON!")


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _from_json(value: Any, as_symbols: bool) -> Any:
    if isinstance(value, list):
        return [_from_json(item, as_symbols) for item in value]
    if isinstance(value, dict):
        return {Symbol(key) if as_symbols else key: _from_json(item, as_symbols) for key, item in value.items()}
    return value


@of_class("YAML Psych Puppet::Util::Yaml", "load", "safe_load", "unsafe_load")
def _parse_yaml(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    from precast.lang.hiera.data.documents import read_yaml

    try:
        return to_ruby(read_yaml(Source("(yaml)", to_str(args[0]))))
    except PrecastError as error:
        kind = "Puppet::Util::Yaml::YamlLoadError" if this.name.startswith("Puppet") else "Psych::SyntaxError"
        raise raised(kind, error.message) from None


@of_class("YAML Psych JSON", "load_file", "safe_load_file")
def _load_file(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    text = execution.read_file(to_str(args[0]))
    return (_parse_json if this.name == "JSON" else _parse_yaml)(execution, this, [text, *args[1:]], None)


@of_class("Puppet::Util::Yaml", "safe_load_file", "load_file")
def _load_puppet_file(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    return _parse_yaml(execution, this, [execution.read_file(to_str(args[0]))], None)


@of_class("Marshal", "load", "dump")
def _marshal(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    """Copy a value deeply, which is all that `Marshal.load(Marshal.dump(x))` is used for."""
    if isinstance(args[0], RubyObject):
        raise issues.NOT_IN_SUBSET.error(construct="Marshal of an object")
    return to_ruby(from_ruby(args[0])) if not isinstance(args[0], dict | list) else _deep_copy(args[0])


def _deep_copy(value: Any) -> Any:
    if isinstance(value, list):
        return [_deep_copy(item) for item in value]
    return {key: _deep_copy(item) for key, item in value.items()} if isinstance(value, dict) else value
