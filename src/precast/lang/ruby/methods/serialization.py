"""Methods that write values as JSON and YAML."""

from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import method
from precast.lang.ruby.stdlib.json_text import PRETTY, to_json
from precast.lang.ruby.stdlib.yaml_text import to_yaml
from precast.lang.ruby.values import Constant, Proc, class_name, from_ruby
from precast.lang.values.base import Hash

Args = list[Any]


@method("Object", "to_json")
def _to_json(execution: Execution, this: Any, args: Args, block: Proc | None) -> str:
    return to_json(_to_data(execution, this))


@method("Object", "to_yaml")
def _to_yaml(execution: Execution, this: Any, args: Args, block: Proc | None) -> str:
    return to_yaml(_to_data(execution, this))


def _to_data(execution: Execution, value: Any) -> Any:
    """Return a value as JSON and YAML write it: symbols as their names, and no unknowns. Raises TypeError for other objects."""
    data = from_ruby(execution.resolve(value))
    _check_writable(data)
    return data


def _check_writable(value: Any) -> None:
    if isinstance(value, tuple):
        for item in value:
            _check_writable(item)
    elif isinstance(value, Hash):
        for item in value.values():
            _check_writable(item)
    elif value is not None and not isinstance(value, str | int | float):
        raise TypeError(f"{class_name(value)} has no form there")


@method("Class", "pretty_generate")
def _pretty_generate(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return to_json(_to_data(execution, args[0]), PRETTY)


@method("Class", "generate", "dump")
def _generate(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    value = _to_data(execution, args[0])
    return to_yaml(value) if this.name in ("YAML", "Psych") else to_json(value)
