"""The declarations of classes and defines in modules on disk: parameters with types and defaults, and type aliases."""

import functools
from collections.abc import Sequence
from pathlib import Path

from precast.base.spans import Source
from precast.lang.syntax import ast
from precast.lang.syntax.parser import parse

MODULES = Path("/usr/share/puppet/modules")
_roots = [MODULES]


def use(roots: Sequence[Path]) -> None:
    """Look for modules in these directories, in this order."""
    _roots[:] = roots
    _program.cache_clear()


@functools.cache
def _program(path: Path) -> ast.Program | None:
    return parse(Source(str(path), path.read_text(encoding="utf-8"))) if path.is_file() else None


def _file(name: str, folder: str) -> Path:
    module, _, rest = name.lower().partition("::")
    places = [root / module / folder / f"{rest.replace('::', '/') or 'init'}.pp" for root in _roots]
    return next((place for place in places if place.is_file()), places[0])


def parameters(name: str) -> Sequence[ast.Parameter]:
    """The parameters of a class or define; empty if it does not exist."""
    program = _program(_file(name, "manifests"))
    for node in program.definitions if program is not None else ():
        if isinstance(node, ast.HostClassDefinition | ast.ResourceTypeDefinition) and node.name == name:
            return node.parameters
    return ()


def alias(name: str) -> ast.Expression | None:
    """The definition of an alias such as `Stdlib::Port`."""
    program = _program(_file(name, "types"))
    for node in program.definitions if program is not None else ():
        if isinstance(node, ast.TypeAliasDefinition):
            return node.type_expr
    return None


def is_installed(name: str) -> bool:
    """Whether a class or define is installed."""
    return _file(name, "manifests").is_file()
