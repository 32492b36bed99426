"""Checks a program without evaluating it: names, places, assignments, queries, statements without effect.

The rules are those of Puppet's own validation, so a program that passes here passes there. All findings of a file are collected, up
to a limit; each has the position of the expression it is about.
"""

from precast.base.errors import PrecastError
from precast.base.spans import Span
from precast.lang.syntax import ast
from precast.lang.syntax.checker import definitions, expressions, resources
from precast.lang.syntax.checker.core import LIMIT, Checker, Findings

__all__ = ["LIMIT", "Findings", "check", "definitions", "expressions", "namespace_of", "resources"]

NOWHERE = Span(0, 0)


def check(program: ast.Program, namespace: str | None = None, is_strict: bool = False) -> Findings:
    """Check a program.

    `namespace` is the name that belongs to a file of a module (`apache`, `apache::vhost`); the file may contain only definitions
    below it. With `is_strict`, a warning of Puppet 7 is an error, as in Puppet 8.
    """
    checker = Checker(program.source, is_strict)
    definitions.check_top(checker, program, namespace)
    return Findings(_in_order(checker.errors), _in_order(checker.warnings))


def _in_order(findings: list[PrecastError]) -> tuple[PrecastError, ...]:
    return tuple(sorted(findings, key=lambda error: error.span or NOWHERE))


def namespace_of(path: str, module_name: str) -> str:
    """The name that belongs to a file of this module: `m` for `…/m/manifests/init.pp`, `m::a` for `…/m/functions/a.pp`."""
    for directory in ("/manifests/", "/functions/"):
        _, prefix, tail = path.rpartition(f"{module_name}{directory}")
        if prefix:
            tail = tail.removesuffix(".pp")
            return module_name if tail == "init" else "::".join([module_name, *tail.split("/")])
    return module_name
