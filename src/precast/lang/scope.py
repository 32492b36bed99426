"""Where variables live while code runs.

A class, a define, a node block and the top each have a `Frame`; a lambda, a function and a template add a scope inside one. A name is
looked up along `parent`: the scopes around a lambda, then the class it inherits, then the node block, then the top; never the
scope that declared the class. Resource defaults do go by who declared whom, along the frames' `declared_in`.
"""

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from precast.lang.compiler.resources import Resource
    from precast.lang.compiler.run import Run

MISSING: Final = object()


class Frame:
    """What stays with a class, define, node block or the top while its code runs and after."""

    __slots__ = (
        "declared_in",
        "defaults",
        "is_open",
        "module_name",
        "name",
        "parent_class",
        "resource",
        "scope",
        "tags",
    )

    def __init__(
        self,
        name: str,
        resource: "Resource | None",
        declared_in: "Frame | None",
        module_name: str,
        is_open: bool = False,
    ) -> None:
        self.name = name
        self.resource = resource
        self.declared_in = declared_in
        self.module_name = module_name
        self.is_open = is_open  # the top or a node block: others see its variables
        self.parent_class: Frame | None = None
        self.defaults: dict[str, dict[str, Any]] = {}
        self.tags: tuple[str, ...] = ()
        self.scope: Scope


class Scope:
    """One set of variables. `matches` is the latest match in it, for $0 to $9; None until there was one."""

    __slots__ = ("frame", "matches", "parent", "run", "variables")

    def __init__(self, run: "Run", frame: Frame, parent: "Scope | None", variables: dict[str, Any]) -> None:
        self.run = run
        self.frame = frame
        self.parent = parent
        self.variables = variables
        self.matches: re.Match[str] | tuple[str | None, ...] | None = None

    def inner(self, variables: dict[str, Any]) -> "Scope":
        """A scope inside this one, as a lambda has."""
        return Scope(self.run, self.frame, self, variables)

    def find(self, name: str) -> Any:
        """The value of an unqualified variable, MISSING if nobody set it."""
        scope: Scope | None = self
        while scope is not None:
            value = scope.variables.get(name, MISSING)
            if value is not MISSING:
                return value
            scope = scope.parent
        return self.run.top_variable(name)

    def match_group(self, index: int) -> Any:
        """$0 to $9…; undef where there is no match or no such group."""
        scope: Scope | None = self
        frame = self.frame
        while scope is not None and scope.frame is frame:
            found = scope.matches
            if found is not None:
                if isinstance(found, tuple):
                    return found[index] if index < len(found) else None
                return found.group(index) if index <= (found.re.groups) else None
            scope = scope.parent
        return None


def new_frame(run: "Run", frame: Frame, parent: Scope | None) -> Scope:
    """The outermost scope of a frame."""
    frame.scope = Scope(run, frame, parent, {})
    return frame.scope
