"""What Puppet's own classes of attributes do with a value: accepted values, Booleans, paths."""

from typing import Any

from precast.lang.ruby.errors import raised
from precast.lang.ruby.values import Symbol
from precast.lang.type_code.classes import ParameterClass

_TRUE, _FALSE = ("true", "yes"), ("false", "no")


def validate_built_in(attribute: ParameterClass, value: Any) -> None:
    """Raise an error of Ruby for a value that the built-in class refuses."""
    match attribute.root_name():
        case "Puppet::Parameter::Path":
            _check_path(attribute, value)
        case "Puppet::Parameter::Boolean":
            _boolean(value)
        case _:
            attribute.accepted.check(value)


def munge_built_in(attribute: ParameterClass, value: Any) -> Any:
    match attribute.root_name():
        case "Puppet::Parameter::Boolean" | "Puppet::Property::Boolean":
            return _boolean(value)
        case "Puppet::Parameter::Path":
            return value
    return attribute.accepted.canonical(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = value.name if isinstance(value, Symbol) else value
    word = text.lower() if isinstance(text, str) else ""
    if word not in (*_TRUE, *_FALSE):
        raise raised("RuntimeError", "expected a boolean value")
    return word in _TRUE


def _check_path(attribute: ParameterClass, value: Any) -> None:
    name = attribute.attribute_name
    if isinstance(value, list) and not attribute.ivars.get("accept_arrays"):
        raise raised("Puppet::Error", f"{name} only accepts a single path, not an array of paths")
    for path in value if isinstance(value, list) else (value,):
        if not isinstance(path, str) or not path.startswith("/"):
            raise raised("Puppet::Error", f"{name} must be a fully qualified path")
