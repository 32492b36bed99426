"""What a template reaches outside its own values: the scope of the manifest, functions, conversions, JSON and YAML."""

import ipaddress
import posixpath
from typing import Any

from precast.lang.functions.sprintf import sprintf
from precast.lang.issues import erb as issues
from precast.lang.ruby.erb.rendering import Rendering
from precast.lang.ruby.erb.values import (
    Constant,
    Pattern,
    Proc,
    Range,
    RubyScope,
    RubyScopeHash,
    Symbol,
    class_name,
    from_ruby,
    range_items,
)
from precast.lang.ruby.json_text import PRETTY, to_json
from precast.lang.ruby.methods.calls import call_method, function, method, shown, text
from precast.lang.ruby.methods.enumerable import pairs
from precast.lang.ruby.methods.general import as_pattern
from precast.lang.ruby.yaml_text import to_yaml
from precast.lang.values.core import Hash
from precast.lang.values.regexps import compile_regexp

Args = list[Any]


@method("Scope", "[]", "lookupvar", "get_local_variable")
def _look_up(rendering: Rendering, this: RubyScope, args: Args, block: Proc | None) -> Any:
    return rendering.look_up(args[0])


@method("Scope", "exist?", "include?", "bound?")
def _exists(rendering: Rendering, this: RubyScope, args: Args, block: Proc | None) -> bool:
    return rendering.host.has_variable(rendering.scope, shown(rendering, args[0]).removeprefix("::"))


@method("Scope", "call_function")
def _call_function(rendering: Rendering, this: RubyScope, args: Args, block: Proc | None) -> Any:
    given = args[1] if len(args) > 1 else []
    return rendering.function(shown(rendering, args[0]), given if isinstance(given, list) else [given], block)


@method("Scope", "setvar")
def _set(rendering: Rendering, this: RubyScope, args: Args, block: Proc | None) -> Any:
    kept, name = rendering.host.kept(rendering.scope), shown(rendering, args[0])
    if name in kept or rendering.host.has_variable(rendering.scope, name):
        raise issues.BAD_CALL.error(name="setvar", reason=f"Cannot reassign variable '${name}'")
    kept[name] = args[1]
    return args[1]


@method("Scope", "to_hash")
def _to_hash(rendering: Rendering, this: RubyScope, args: Args, block: Proc | None) -> RubyScopeHash:
    return RubyScopeHash()


@method("Scope hash", "[]", "fetch", "dig")
def _item(rendering: Rendering, this: RubyScopeHash, args: Args, block: Proc | None) -> Any:
    found = rendering.look_up(shown(rendering, args[0]))
    return args[1] if found is None and len(args) > 1 else found


@method("Scope hash", "has_key?", "key?", "include?", "member?")
def _has_item(rendering: Rendering, this: RubyScopeHash, args: Args, block: Proc | None) -> bool:
    """A variable that is undef is not in it."""
    return rendering.look_up(shown(rendering, args[0])) is not None


@method("Scope hash", "each", "keys", "values", "map", "select", "reject", "to_a", "sort", "to_yaml", "to_json", "size")
def _no_whole(rendering: Rendering, this: RubyScopeHash, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="all of scope.to_hash, which would read every variable")


@method("Scope", "environment", "compiler", "catalog", "resource", "known_resource_types", "lookup_qualified_variable")
def _no_insides(rendering: Rendering, this: RubyScope, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="the compiler's insides")


@function("has_variable?")
def _has_variable(rendering: Rendering, args: Args, block: Proc | None) -> bool:
    return rendering.host.has_variable(rendering.scope, shown(rendering, args[0]))


@function("instance_variables")
def _instance_variables(rendering: Rendering, args: Args, block: Proc | None) -> list[Symbol]:
    own = [name for name in rendering.own if rendering.own[name] is not None]
    return [Symbol(f"@{name}") for name in dict.fromkeys([*rendering.host.variable_names(rendering.scope), *own])]


@function("instance_variable_get")
def _instance_variable_get(rendering: Rendering, args: Args, block: Proc | None) -> Any:
    return rendering.ivar(shown(rendering, args[0]).removeprefix("@"))


@function("instance_variable_defined?")
def _instance_variable_defined(rendering: Rendering, args: Args, block: Proc | None) -> bool:
    return rendering.ivar(shown(rendering, args[0]).removeprefix("@")) is not None


@function("lookupvar")
def _lookupvar(rendering: Rendering, args: Args, block: Proc | None) -> Any:
    return rendering.look_up(args[0])


@function("sprintf", "format")
def _sprintf(rendering: Rendering, args: Args, block: Proc | None) -> str:
    return sprintf(text(args[0]), [from_ruby(rendering.known(arg)) for arg in args[1:]])


@function("Array")
def _array(rendering: Rendering, args: Args, block: Proc | None) -> list[Any]:
    (value,) = args
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return pairs(value)
    if isinstance(value, Range):
        return range_items(value)
    return [] if value is None else [value]


@function("Integer")
def _integer(rendering: Rendering, args: Args, block: Proc | None) -> int:
    value = rendering.known(args[0])
    if isinstance(value, str):
        return int(value.replace("_", ""), int(args[1]) if len(args) > 1 else 0)
    if value is None:
        raise TypeError("can't convert nil into Integer")
    return int(value)


@function("Float")
def _float(rendering: Rendering, args: Args, block: Proc | None) -> float:
    return float(rendering.known(args[0]))


@function("String")
def _string(rendering: Rendering, args: Args, block: Proc | None) -> str:
    return shown(rendering, args[0])


@function("puts", "print", "p", "pp", "warn")
def _say(rendering: Rendering, args: Args, block: Proc | None) -> None:
    """Ruby would write that to the server's terminal; here there is none."""


@method("Object", "to_json")
def _to_json(rendering: Rendering, this: Any, args: Args, block: Proc | None) -> str:
    return to_json(plain(rendering, this))


@method("Object", "to_yaml")
def _to_yaml(rendering: Rendering, this: Any, args: Args, block: Proc | None) -> str:
    return to_yaml(plain(rendering, this))


def plain(rendering: Rendering, value: Any) -> Any:
    """A value as JSON and YAML write it: symbols as their names, nothing open."""
    found = from_ruby(rendering.known(value))
    _check_written(found)
    return found


def _check_written(value: Any) -> None:
    if isinstance(value, tuple):
        for item in value:
            _check_written(item)
    elif isinstance(value, Hash):
        for item in value.values():
            _check_written(item)
    elif value is not None and not isinstance(value, str | int | float):
        raise TypeError(f"{class_name(value)} has no form there")


@method("Class", "new")
def _new(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> Any:
    match this.name:
        case "Hash":
            return {}
        case "Array":
            size = int(args[0]) if args else 0
            if size > 100_000:
                raise ValueError("array size too big")
            return [
                rendering.yield_to(block, at) if block else args[1] if len(args) > 1 else None for at in range(size)
            ]
        case "String":
            return text(args[0]) if args else ""
        case "Regexp":
            found = args[0]
            return found if isinstance(found, Pattern) else Pattern(text(found), compile_regexp(text(found)))
        case "IPAddr":  # what is no address is an ArgumentError, which is what templates call it for
            return str(ipaddress.ip_interface(text(args[0])).ip)
        case _:
            raise issues.NOT_IN_SUBSET.error(construct=f"{this.name}.new")


@method("Class", "[]")
def _make(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> Any:
    if this.name != "Hash":
        raise issues.NOT_IN_SUBSET.error(construct=f"{this.name}[]")
    items = args[0] if len(args) == 1 else [list(pair) for pair in zip(args[::2], args[1::2], strict=True)]
    return call_method(rendering, items, "to_h", [], None)


@method("Class", "escape", "quote")
def _escape(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> str:
    subject = text(args[0])
    if this.name == "Regexp":
        return "".join(f"\\{char}" if char in r".*?+^$|\()[]{}-/ " and char != "/" else char for char in subject)
    if this.name == "Shellwords":
        return "".join(char if char.isalnum() or char in "_-.,:+/@" else f"\\{char}" for char in subject)
    raise issues.NOT_IN_SUBSET.error(construct=f"{this.name}.escape")


@method("Class", "html_escape", "h", "escapeHTML")
def _html_escape(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> str:
    table = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
    return "".join(table.get(char, char) for char in shown(rendering, args[0]))


@method("Class", "pretty_generate")
def _pretty_generate(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> str:
    return to_json(plain(rendering, args[0]), PRETTY)


@method("Class", "generate", "dump")
def _generate(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> str:
    value = plain(rendering, args[0])
    return to_yaml(value) if this.name in ("YAML", "Psych") else to_json(value)


@method("Class", "join")
def _join_path(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> str:
    words = [shown(rendering, arg) for arg in args]
    return "/".join(
        [
            words[0].rstrip("/"),
            *(word.strip("/") for word in words[1:-1]),
            *(word.lstrip("/") for word in words[1:][-1:]),
        ]
    )


@method("Class", "basename")
def _basename(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> str:
    found = posixpath.basename(text(args[0]).rstrip("/"))
    suffix = text(args[1]) if len(args) > 1 else ""
    return posixpath.splitext(found)[0] if suffix == ".*" else found.removesuffix(suffix)


@method("Class", "dirname")
def _dirname(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> str:
    return posixpath.dirname(text(args[0]).rstrip("/")) or "."


@method("Class", "extname")
def _extname(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> str:
    return posixpath.splitext(text(args[0]))[1]


@method("Class", "name", "to_s")
def _name(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> str:
    return this.name


@method("Class", "union")
def _union(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> Pattern:
    words = args[0] if len(args) == 1 and isinstance(args[0], list) else args
    joined = "|".join(as_pattern(word).compiled.pattern for word in words)
    return Pattern(joined, compile_regexp(joined))


@method(
    "Class",
    "now",
    "today",
    "exist?",
    "exists?",
    "read",
    "readlines",
    "file?",
    "directory?",
    "glob",
    "value",
    "env",
    "popen",
)
@method("Class", "rand", "hexdigest", "parse", "load", "load_file", "getaddress", "system")
def _impure(rendering: Rendering, this: Constant, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct=f"{this.name}, which is outside of the environment")
