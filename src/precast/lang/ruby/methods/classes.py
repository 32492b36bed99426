"""Methods of the built-in classes and modules of Ruby's core, such as `Regexp.escape` and `File.basename`.

What would reach outside of the environment is refused by not being here.
"""

import math
import posixpath
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.errors import PARENTS, descends
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, call_method, method, of_class, plain_text, to_str
from precast.lang.ruby.methods.hashes import DefaultHash
from precast.lang.ruby.objects import Constant, Proc, RubyClass, RubyError
from precast.lang.ruby.values import Pattern, Range, is_a
from precast.lang.values.regexps import compile_regexp

Args = list[Any]
_MAX_ITEMS = 100_000


@method("Class", "===")
def _is_instance(execution: Execution, this: Constant, args: Args, block: Proc | None) -> bool:
    value = args[0]
    if isinstance(value, RubyError) or (hasattr(value, "kind") and isinstance(value.kind, RubyClass)):
        return descends(value.kind, this) or this.name in ("Object", "BasicObject", "Kernel")
    return is_a(value, this.name)


@method("Class", "<=", "<")
def _is_subclass(execution: Execution, this: Constant, args: Args, block: Proc | None) -> bool | None:
    return True if descends(this, args[0]) else None


@method("Class", "new", "exception")
def _new(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    if this.name in PARENTS:
        return RubyError(this, args[0] if args else None)
    raise issues.NOT_IN_SUBSET.error(construct=f"{this.name}.new")


@of_class("Object BasicObject", "new")
def _new_object(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    return call_method(execution, RubyClass("Object"), "new", args, block)


@of_class("Hash", "new")
def _new_hash(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    if block is None and not args:
        return {}
    return DefaultHash(args[0] if args else None, block)


@of_class("Array", "new")
def _new_array(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    if args and isinstance(args[0], list):
        return list(args[0])
    size = int(args[0]) if args else 0
    if size > _MAX_ITEMS:
        raise ValueError("array size too big")
    return [execution.yield_to(block, at) if block else args[1] if len(args) > 1 else None for at in range(size)]


@of_class("String", "new")
def _new_string(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    return to_str(args[0]) if args else ""


@of_class("Range", "new")
def _new_range(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    return Range(args[0], args[1], len(args) > 2 and args[2] is True)


@of_class("Proc", "new")
def _new_proc(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    if block is None:
        raise ValueError("tried to create Proc object without a block")
    return block


@of_class("Regexp", "new", "compile")
def _new_pattern(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    source = args[0]
    if isinstance(source, Pattern):
        return source
    given = args[1] if len(args) > 1 else 0
    number = (
        given
        if isinstance(given, int) and not isinstance(given, bool)
        else int(given is not None and given is not False)
    )
    flags = "".join(flag for flag, bit in (("m", 4), ("i", 1), ("x", 2)) if number & bit)
    text = to_str(source)
    return Pattern(text, compile_regexp(f"(?{flags}:{text})" if flags else text), flags)


@of_class("Hash", "[]")
def _from_pairs(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    if len(args) == 1 and isinstance(args[0], dict):
        return dict(args[0])
    if len(args) != 1 and len(args) % 2:
        raise ValueError("odd number of arguments for Hash")
    items = args[0] if len(args) == 1 else [list(pair) for pair in zip(args[::2], args[1::2], strict=True)]
    return call_method(execution, items, "to_h", [], None)


@of_class("Regexp", "escape", "quote")
def _escape(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f", "\v": "\\v"}
    subject = plain_text(execution, args[0])
    return "".join(named.get(char) or (f"\\{char}" if char in r".*?+^$|\()[]{}-# " else char) for char in subject)


@of_class("Regexp", "union")
def _union(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Pattern:
    words = args[0] if len(args) == 1 and isinstance(args[0], list) else args
    texts = [
        call_method(execution, word, "to_s", [], None) if isinstance(word, Pattern) and len(words) > 1
        else word.text if isinstance(word, Pattern) else _escape(execution, this, [word], None)
        for word in words
    ]  # fmt: skip
    joined = "|".join(texts) if texts else "(?!)"
    return Pattern(joined, compile_regexp(joined))


@of_class("Regexp", "last_match")
def _last_match(execution: Execution, this: Constant, args: Args, block: Proc | None) -> Any:
    match = execution.match
    return match if not args or match is None else call_method(execution, match, "[]", args, None)


@of_class("ERB::Util CGI", "html_escape", "h", "escapeHTML", "escape_html")
def _html_escape(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    table = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
    return "".join(table.get(char, char) for char in plain_text(execution, args[0]))


@of_class("File", "join")
def _join_path(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    words = [to_str(word) for arg in args for word in (call_method(execution, [arg], "flatten", [], None))]
    if not words:
        return ""
    path = words[0]
    for word in words[1:]:
        path = path.rstrip("/") + "/" + word.lstrip("/")
    return path


@of_class("File", "basename")
def _basename(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    path = to_str(args[0])
    name = posixpath.basename(path.rstrip("/")) or path[:1]
    suffix = to_str(args[1]) if len(args) > 1 else ""
    if suffix == ".*":
        return posixpath.splitext(name)[0]
    return name.removesuffix(suffix) if name != suffix else name


@of_class("File", "dirname")
def _dirname(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    path = to_str(args[0])
    head, slash, _ = path.rstrip("/").rpartition("/")
    if not slash:
        return "/" if path.startswith("/") else "."
    return head.rstrip("/") or "/"


@of_class("File", "extname")
def _extname(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return posixpath.splitext(to_str(args[0]))[1]


@of_class("File", "split")
def _split_path(execution: Execution, this: Constant, args: Args, block: Proc | None) -> list[str]:
    return [_dirname(execution, this, args, None), _basename(execution, this, args[:1], None)]


@of_class("File", "expand_path", "absolute_path")
def _expand_path(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    path = to_str(args[0])
    base = to_str(args[1]) if len(args) > 1 and args[1] is not None else ""
    joined = posixpath.join(base, path)
    if not joined.startswith("/"):
        raise issues.NOT_IN_SUBSET.error(construct="File.expand_path of a relative path: it depends on the process")
    return posixpath.normpath(joined).replace("//", "/")


@of_class("File", "absolute_path?")
def _is_absolute(execution: Execution, this: Constant, args: Args, block: Proc | None) -> bool:
    return to_str(args[0]).startswith("/")


@of_class("File", "fnmatch", "fnmatch?")
def _fnmatch(execution: Execution, this: Constant, args: Args, block: Proc | None) -> bool:
    import fnmatch

    return fnmatch.fnmatchcase(to_str(args[1]), to_str(args[0]))


@method("Class", "const_defined?")
def _const_defined(execution: Execution, this: Constant, args: Args, block: Proc | None) -> bool:
    return execution.is_builtin(f"{this.name}::{plain_text(execution, args[0])}")


@method("Class", "name", "to_s", "inspect")
def _name(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return this.name


def _declare_math() -> None:
    for name in ("sqrt", "log", "log2", "log10", "sin", "cos", "tan", "atan", "exp", "hypot", "pow", "cbrt"):
        function = getattr(math, name)

        def run(execution: Execution, this: Any, args: Args, block: Proc | None, function: Any = function) -> float:
            return float(function(*map(float, args)))

        METHODS.setdefault("Math.", {})[name] = run


_declare_math()
