"""Renders an ERB template: the result is a String, or an unknown value if part of the text is not known yet."""

import contextlib
from typing import Any

from precast.base import digests
from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.ruby.erb.parser import parse_template
from precast.lang.ruby.evaluation.closures import Closure
from precast.lang.ruby.evaluation.compiler import ClosureCompiler
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.execution import Execution, Jump, RubyHost
from precast.lang.ruby.methods import library
from precast.lang.ruby.values import join_pieces

library.load()

_compiled: dict[tuple[str, str], Closure] = {}
_MAX_COMPILED = 2_000


def compile_template(source: Source) -> Closure:
    """Return the closure of a template, cached by its path and content. Raises InputError LANG-900 or LANG-901."""
    key = (source.path, digests.of_bytes(source.text.encode()))
    closure = _compiled.get(key)
    if closure is None:
        if len(_compiled) >= _MAX_COMPILED:
            _compiled.clear()
        closure = _compiled[key] = ClosureCompiler(source).compile(parse_template(source))
    return closure


def render(host: RubyHost, scope: Any, source: Source) -> Any:
    """Return the text of a template. Raises InputError LANG-900 to LANG-907."""
    execution = Execution(host, scope)
    try:
        with contextlib.suppress(Jump):  # `return` outside of a method ends the template
            compile_template(source)(Frame(execution))
    except RecursionError:
        raise issues.TOO_DEEP.error() from None
    execution.write_back()
    return join_pieces(execution.out)
