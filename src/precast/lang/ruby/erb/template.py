"""Renders an ERB template: the result is a String, or an unknown value if part of the text is not known yet."""

import contextlib
from typing import Any, NamedTuple

from precast.base import digests
from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.ruby.erb.parser import parse_template
from precast.lang.ruby.evaluation.closures import Closure
from precast.lang.ruby.evaluation.compiler import ClosureCompiler
from precast.lang.ruby.evaluation.frames import Frame, LocalScope
from precast.lang.ruby.execution import Execution, Jump, RubyHost
from precast.lang.ruby.methods import library
from precast.lang.ruby.values import TEMPLATE, join_pieces

library.load()


class Template(NamedTuple):
    """The closure of a template and the names of its local variables."""

    body: Closure
    scope: LocalScope


_compiled: dict[tuple[str, str], Template] = {}
_MAX_COMPILED = 2_000


def compile_template(source: Source) -> Template:
    """Return the closure of a template, cached by its path and content. Raises InputError LANG-900 or LANG-901."""
    key = (source.path, digests.of_bytes(source.text.encode()))
    template = _compiled.get(key)
    if template is None:
        if len(_compiled) >= _MAX_COMPILED:
            _compiled.clear()
        compiler = ClosureCompiler(source)
        template = _compiled[key] = Template(compiler.compile(parse_template(source)), compiler.scope)
    return template


def render(host: RubyHost, scope: Any, source: Source) -> Any:
    """Return the text of a template. Raises InputError LANG-900 to LANG-907."""
    execution = Execution(host, scope)
    execution.methods = host.template_methods()
    execution.locals = {"file": source.path} if source.path else {}
    try:
        template = compile_template(source)
        with contextlib.suppress(Jump):  # `return` outside of a method ends the template
            template.body(Frame(execution, template.scope, TEMPLATE))
    except RecursionError:
        raise issues.TOO_DEEP.error() from None
    execution.write_back()
    return join_pieces(execution.out)
