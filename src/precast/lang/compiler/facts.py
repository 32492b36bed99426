"""Variables that no code assigned: facts, trusted data, server facts, and parameters an operator gave the node.

Each read asks the narrowest sufficient question. An identity fact that is a string stays a hole: only its kind is asked for, until
code needs the string itself.
"""

import fnmatch
from typing import Any

from precast.lang.inputs import (
    ABSENT,
    Classification,
    Constant,
    FactAbsent,
    FactKeys,
    FactKind,
    FactPath,
    Inputs,
    Path,
    TrustedKind,
    TrustedPath,
)
from precast.lang.scope import MISSING
from precast.lang.settings import Settings
from precast.lang.values.base import Hash, from_data
from precast.lang.values.unknowns import Hole

ROOTS = frozenset(("facts", "trusted"))


class NodeVariables:
    """The variables that the node's data defines, read on demand."""

    def __init__(self, inputs: Inputs, settings: Settings) -> None:
        self._inputs = inputs
        self._values: dict[tuple[str, Path], Any] = {}
        self._is_identity_path: dict[tuple[str, Path], bool] = {}
        self._server: Hash | None = None
        self._assigned_parameters: Hash | None = None
        self._environment = settings.environment
        self._identity = {
            "facts": _patterns(settings.identity_facts),
            "trusted": _patterns(settings.identity_trusted),
        }

    def _server_facts(self) -> Hash:
        if self._server is None:
            answer = self._inputs.ask(Constant("server_facts"))
            known = Hash() if answer is ABSENT else from_data(answer)
            self._server = known.merged({"environment": self._environment})
        return self._server

    def _parameters(self) -> Hash:
        if self._assigned_parameters is None:
            self._assigned_parameters = from_data(self._inputs.ask(Classification())["parameters"])
        return self._assigned_parameters

    def get(self, name: str) -> Any:
        """A top-scope variable that no code set; MISSING if there is none."""
        if name in ROOTS:
            return self.below(name, ())
        if name == "server_facts":
            return self._server_facts()
        if name in self._parameters():
            return self._parameters()[name]
        value = self.below("facts", (name,))
        if value is not ABSENT:
            return value
        return self._server_facts().get(name, MISSING)

    def names(self) -> list[str]:
        """The names of the top-scope variables that the node's data defines."""
        facts = self._inputs.ask(FactKeys(()))
        return [
            *(() if facts is ABSENT else facts),
            *self._server_facts(),
            *self._parameters(),
            *sorted(ROOTS),
            "server_facts",
        ]

    def is_fact(self, name: str) -> bool:
        """Whether accesses below this variable go to the facts or the trusted data."""
        return name in ROOTS or (name != "server_facts" and name not in self._parameters())

    def has(self, name: str) -> bool:
        """Whether the top scope has this variable before any code runs."""
        if name in ROOTS or name in self._server_facts() or name in self._parameters():
            return True
        return not self._inputs.ask(FactAbsent(name))

    def value(self, name: str, path: Path, whole: bool = False) -> Any:
        """The value at a path below a variable of the node's data, or ABSENT. `whole` resolves holes."""
        if name in ROOTS:
            return self.below(name, path, whole)
        return self.below("facts", (name, *path), whole)

    def kind(self, name: str, path: Path) -> str:
        """The kind of value at a path below a variable of the node's data; asks for the kind, not for the value."""
        if name in ROOTS and not path:
            return "hash"
        root, fact_path = (name, path) if name in ROOTS else ("facts", (name, *path))
        return str(self._inputs.ask(FactKind(fact_path) if root == "facts" else TrustedKind(fact_path)))

    def below(self, root: str, path: Path, whole: bool = False) -> Any:
        if not whole and path and self._is_identity(root, path):
            kind = self._inputs.ask(FactKind(path) if root == "facts" else TrustedKind(path))
            if kind == "absent":
                return ABSENT
            if kind == "string":
                return Hole(root, path)
        return self.ask(root, path)

    def ask(self, root: str, path: Path) -> Any:
        """The concrete value; asked for once and converted once."""
        key = (root, path)
        if key not in self._values:
            answer = self._inputs.ask(FactPath(path) if root == "facts" else TrustedPath(path))
            self._values[key] = ABSENT if answer is ABSENT else from_data(answer)
        return self._values[key]

    def _is_identity(self, root: str, path: Path) -> bool:
        known = self._is_identity_path.get((root, path))
        if known is None:
            exact, patterns = self._identity[root]
            name = ".".join(map(str, path))
            known = name in exact or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
            self._is_identity_path[root, path] = known
        return known


def _patterns(names: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Split names into exact ones, for lookup, and patterns, which are tried in turn."""
    return (
        frozenset(name for name in names if "*" not in name),
        tuple(name for name in names if "*" in name),
    )
