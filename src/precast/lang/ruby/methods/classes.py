"""Methods of classes and modules, such as `Regexp.escape` and `File.basename`. What would reach outside of the environment is refused."""

import ipaddress
import posixpath
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import call_method, method, plain_text, to_str
from precast.lang.ruby.methods.objects import as_pattern
from precast.lang.ruby.values import Constant, Pattern, Proc
from precast.lang.values.regexps import compile_regexp

Args = list[Any]


@method("Class", "new")
def _new(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    match this.name:
        case "Hash":
            return {}
        case "Array":
            size = int(args[0]) if args else 0
            if size > 100_000:
                raise ValueError("array size too big")
            return [
                execution.yield_to(block, at) if block else args[1] if len(args) > 1 else None for at in range(size)
            ]
        case "String":
            return to_str(args[0]) if args else ""
        case "Regexp":
            source = args[0]
            return source if isinstance(source, Pattern) else Pattern(to_str(source), compile_regexp(to_str(source)))
        case "IPAddr":  # templates call it for the ArgumentError of an invalid address
            return str(ipaddress.ip_interface(to_str(args[0])).ip)
        case _:
            raise issues.NOT_IN_SUBSET.error(construct=f"{this.name}.new")


@method("Class", "[]")
def _from_pairs(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    if this.name != "Hash":
        raise issues.NOT_IN_SUBSET.error(construct=f"{this.name}[]")
    items = args[0] if len(args) == 1 else [list(pair) for pair in zip(args[::2], args[1::2], strict=True)]
    return call_method(execution, items, "to_h", [], None)


@method("Class", "escape", "quote")
def _escape(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    subject = to_str(args[0])
    if this.name == "Regexp":
        return "".join(f"\\{char}" if char in r".*?+^$|\()[]{}-/ " and char != "/" else char for char in subject)
    if this.name == "Shellwords":
        return "".join(char if char.isalnum() or char in "_-.,:+/@" else f"\\{char}" for char in subject)
    raise issues.NOT_IN_SUBSET.error(construct=f"{this.name}.escape")


@method("Class", "html_escape", "h", "escapeHTML")
def _html_escape(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    table = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
    return "".join(table.get(char, char) for char in plain_text(execution, args[0]))


@method("Class", "join")
def _join_path(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    words = [plain_text(execution, arg) for arg in args]
    return "/".join(
        [
            words[0].rstrip("/"),
            *(word.strip("/") for word in words[1:-1]),
            *(word.lstrip("/") for word in words[1:][-1:]),
        ]
    )


@method("Class", "basename")
def _basename(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    name = posixpath.basename(to_str(args[0]).rstrip("/"))
    suffix = to_str(args[1]) if len(args) > 1 else ""
    return posixpath.splitext(name)[0] if suffix == ".*" else name.removesuffix(suffix)


@method("Class", "dirname")
def _dirname(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return posixpath.dirname(to_str(args[0]).rstrip("/")) or "."


@method("Class", "extname")
def _extname(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return posixpath.splitext(to_str(args[0]))[1]


@method("Class", "name", "to_s")
def _name(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return this.name


@method("Class", "union")
def _union(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Pattern:
    words = args[0] if len(args) == 1 and isinstance(args[0], list) else args
    joined = "|".join(as_pattern(word).compiled.pattern for word in words)
    return Pattern(joined, compile_regexp(joined))


@method(
    "Class", "now", "today", "exist?", "exists?", "read", "readlines", "file?", "directory?", "glob", "value", "env"
)
@method("Class", "popen", "rand", "hexdigest", "parse", "load", "load_file", "getaddress", "system")
def _refuse_outside(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct=f"{this.name}, which is outside of the environment")
