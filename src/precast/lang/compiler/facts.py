"""Variables that nobody assigned: facts, trusted data, server facts, what an operator gave the node.

Each read is a question about as little as will do. An identity fact that is a string stays open: its place in the facts is all
that is asked of it until somebody needs the string itself.
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
from precast.lang.values.core import Hash, from_data
from precast.lang.values.unknowns import Hole

ROOTS = frozenset(("facts", "trusted"))


class NodeVariables:
    """The variables that the node's data makes, read as they are needed."""

    def __init__(self, inputs: Inputs, settings: Settings) -> None:
        self._inputs = inputs
        self._values: dict[tuple[str, Path], Any] = {}
        self._judged: dict[tuple[str, Path], bool] = {}
        self._server: Hash | None = None
        self._given: Hash | None = None
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
        if self._given is None:
            self._given = from_data(self._inputs.ask(Classification())["parameters"])
        return self._given

    def get(self, name: str) -> Any:
        """A variable of the top that no code set; MISSING if there is none."""
        if name in ROOTS:
            return self.below(name, ())
        if name == "server_facts":
            return self._server_facts()
        if name in self._parameters():
            return self._parameters()[name]
        found = self.below("facts", (name,))
        if found is not ABSENT:
            return found
        return self._server_facts().get(name, MISSING)

    def names(self) -> list[str]:
        """The variables that the node's data makes at the top."""
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
        """Whether the top has this variable before any code runs."""
        if name in ROOTS or name in self._server_facts() or name in self._parameters():
            return True
        return not self._inputs.ask(FactAbsent(name))

    def value(self, name: str, path: Path, whole: bool = False) -> Any:
        """What lies below a variable of the node's data; ABSENT if nothing does. `whole` leaves nothing open."""
        if name in ROOTS:
            return self.below(name, path, whole)
        return self.below("facts", (name, *path), whole)

    def kind(self, name: str, path: Path) -> str:
        """What lies below a variable of the node's data, as a word: asks for that, not for the value."""
        if name in ROOTS and not path:
            return "hash"
        root, place = (name, path) if name in ROOTS else ("facts", (name, *path))
        return str(self._inputs.ask(FactKind(place) if root == "facts" else TrustedKind(place)))

    def below(self, root: str, path: Path, whole: bool = False) -> Any:
        if not whole and path and self._is_identity(root, path):
            kind = self._inputs.ask(FactKind(path) if root == "facts" else TrustedKind(path))
            if kind == "absent":
                return ABSENT
            if kind == "string":
                return Hole(root, path)
        return self.ask(root, path)

    def ask(self, root: str, path: Path) -> Any:
        """The concrete value; asked once, and turned into a value once."""
        key = (root, path)
        if key not in self._values:
            answer = self._inputs.ask(FactPath(path) if root == "facts" else TrustedPath(path))
            self._values[key] = ABSENT if answer is ABSENT else from_data(answer)
        return self._values[key]

    def _is_identity(self, root: str, path: Path) -> bool:
        known = self._judged.get((root, path))
        if known is None:
            exact, patterns = self._identity[root]
            name = ".".join(map(str, path))
            known = name in exact or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
            self._judged[root, path] = known
        return known


def _patterns(names: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Names looked up, and patterns tried one by one."""
    return (
        frozenset(name for name in names if "*" not in name),
        tuple(name for name in names if "*" in name),
    )
