"""Pathname, as far as the text of a path determines the answer."""

import posixpath
from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import method, of_class, plain_text, to_str
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import Instance

Args = list[Any]


class Pathname(Instance):
    """A path."""

    kind_name = "Pathname"

    def __init__(self, text: str) -> None:
        self.text = text


@of_class("Pathname", "new")
def _new(execution: Execution, this: Any, args: Args, block: Proc | None) -> Pathname:
    return Pathname(args[0].text if isinstance(args[0], Pathname) else to_str(args[0]))


@method("Pathname", "to_s", "to_path", "to_str")
def _text(execution: Execution, this: Pathname, args: Args, block: Proc | None) -> str:
    return this.text


@method("Pathname", "absolute?")
def _is_absolute(execution: Execution, this: Pathname, args: Args, block: Proc | None) -> bool:
    return this.text.startswith("/")


@method("Pathname", "relative?")
def _is_relative(execution: Execution, this: Pathname, args: Args, block: Proc | None) -> bool:
    return not this.text.startswith("/")


@method("Pathname", "root?")
def _is_root(execution: Execution, this: Pathname, args: Args, block: Proc | None) -> bool:
    return this.text.startswith("/") and not this.text.strip("/")


@method("Pathname", "basename")
def _basename(execution: Execution, this: Pathname, args: Args, block: Proc | None) -> Pathname:
    name = posixpath.basename(this.text.rstrip("/")) or "/"
    return Pathname(name.removesuffix(to_str(args[0])) if args else name)


@method("Pathname", "dirname", "parent")
def _dirname(execution: Execution, this: Pathname, args: Args, block: Proc | None) -> Pathname:
    return Pathname(posixpath.dirname(this.text.rstrip("/")) or ("/" if this.text.startswith("/") else "."))


@method("Pathname", "extname")
def _extname(execution: Execution, this: Pathname, args: Args, block: Proc | None) -> str:
    return posixpath.splitext(this.text)[1]


@method("Pathname", "+", "join", "/")
def _join(execution: Execution, this: Pathname, args: Args, block: Proc | None) -> Pathname:
    parts = [plain_text(execution, arg) for arg in args]
    return Pathname(posixpath.normpath(posixpath.join(this.text, *parts)))


@method("Pathname", "cleanpath")
def _cleanpath(execution: Execution, this: Pathname, args: Args, block: Proc | None) -> Pathname:
    return Pathname(posixpath.normpath(this.text).replace("//", "/") if this.text else ".")


@method("Pathname", "==", "eql?")
def _equal(execution: Execution, this: Pathname, args: Args, block: Proc | None) -> bool:
    return isinstance(args[0], Pathname) and args[0].text == this.text
