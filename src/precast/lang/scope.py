"""Where variables live while code runs.

A class, a define, a node block and the top scope each have a `Frame`; a lambda, a function and a template add a scope inside one. A
name is looked up along `parent`: the scopes around a lambda, then the inherited class, then the node block, then the top scope;
never the scope that declared the class. Resource defaults follow the declarations instead, along the frames' `declared_in`.
"""

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation
    from precast.lang.compiler.resources import Resource

MISSING: Final = object()


class Frame:
    """State of a class, define, node block or the top scope that lasts while its code runs and afterwards."""

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
        self.is_open = is_open  # the top scope or a node block: scopes inside see its variables
        self.parent_class: Frame | None = None
        self.defaults: dict[str, dict[str, Any]] = {}
        self.tags: tuple[str, ...] = ()
        self.scope: Scope


class Scope:
    """One set of variables. `matches` is the latest regular expression match in it, for $0 to $9; None before the first."""

    __slots__ = ("compilation", "frame", "matches", "parent", "variables")

    def __init__(
        self, compilation: "Compilation", frame: Frame, parent: "Scope | None", variables: dict[str, Any]
    ) -> None:
        self.compilation = compilation
        self.frame = frame
        self.parent = parent
        self.variables = variables
        self.matches: re.Match[str] | tuple[str | None, ...] | None = None

    def inner(self, variables: dict[str, Any]) -> "Scope":
        """Open a scope inside this one, as a lambda does."""
        return Scope(self.compilation, self.frame, self, variables)

    def find(self, name: str) -> Any:
        """The value of an unqualified variable; MISSING if no scope set it."""
        scope: Scope | None = self
        while scope is not None:
            value = scope.variables.get(name, MISSING)
            if value is not MISSING:
                return value
            scope = scope.parent
        return self.compilation.top_variable(name)

    def match_group(self, index: int) -> Any:
        """The value of $0 to $9…; undef if there is no match or no such group."""
        scope: Scope | None = self
        frame = self.frame
        while scope is not None and scope.frame is frame:
            match = scope.matches
            if match is not None:
                if isinstance(match, tuple):
                    return match[index] if index < len(match) else None
                return match.group(index) if index <= (match.re.groups) else None
            scope = scope.parent
        return None


def new_frame(compilation: "Compilation", frame: Frame, parent: Scope | None) -> Scope:
    """Open the outermost scope of a frame."""
    frame.scope = Scope(compilation, frame, parent, {})
    return frame.scope
