"""What can be judged without evaluating: names, places, assignments, queries, statements without effect.

The rules are those of Puppet's own validation, so that what passes here passes there. All findings of a file are collected, up to
a limit; the position of each is that of the expression it is about.
"""

from precast.base.errors import PrecastError
from precast.base.spans import Span
from precast.lang.syntax import ast
from precast.lang.syntax.checker import definitions, expressions, resources
from precast.lang.syntax.checker.core import LIMIT, Checker, Findings

__all__ = ["LIMIT", "Findings", "check", "definitions", "expressions", "namespace_of", "resources"]

NOWHERE = Span(0, 0)


def check(program: ast.Program, namespace: str | None = None, is_strict: bool = False) -> Findings:
    """The findings about a program.

    `namespace` is the name that a file of a module answers to (`apache`, `apache::vhost`); there only definitions below it may
    stand. Under `is_strict` what Puppet 7 warns of is an error, as in Puppet 8.
    """
    checker = Checker(program.source, is_strict)
    definitions.check_top(checker, program, namespace)
    return Findings(_in_order(checker.errors), _in_order(checker.warnings))


def _in_order(found: list[PrecastError]) -> tuple[PrecastError, ...]:
    return tuple(sorted(found, key=lambda error: error.span or NOWHERE))


def namespace_of(path: str, module_name: str) -> str:
    """The name that a file of this module answers to: `m` for `…/m/manifests/init.pp`, `m::a` for `…/m/functions/a.pp`."""
    for directory in ("/manifests/", "/functions/"):
        _, found, tail = path.rpartition(f"{module_name}{directory}")
        if found:
            tail = tail.removesuffix(".pp")
            return module_name if tail == "init" else "::".join([module_name, *tail.split("/")])
    return module_name
