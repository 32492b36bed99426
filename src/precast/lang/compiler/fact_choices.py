"""Finds secrets that a fact of the node has chosen: whoever has root on a node can send any fact, and so get the secret of another.

A fact chooses a secret if it is part of the path of the data or of the secret, of the key of a lookup, or of an argument of
`precast::secret`: as `facts`, as a variable of the top scope, or through variables that code assigns or defaults from it. Values that are
passed as parameters are not followed. Trusted data, server facts and what an operator has assigned are no facts.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from precast.base.errors import PrecastError
from precast.lang.inputs import SecretPolicy
from precast.lang.issues import secrets as issues
from precast.lang.scope import Frame, Scope
from precast.lang.syntax import ast
from precast.lang.syntax.walking import variables, walk

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation

# Variables that no node decides. What is not among them and no code sets is a fact, or an operator's parameter.
_TRUSTED = frozenset(
    (
        *("trusted", "server_facts", "environment", "servername", "serverip", "serverversion", "settings"),
        *("module_name", "caller_module_name", "title", "name"),
    )
)


_assignments: dict[str, dict[str, tuple[str, ...]]] = {}
_MAX_FILES = 2_000


class FactChoices:
    """What one compile has found. `problems` are by their texts, in the order in which the code met them."""

    def __init__(self, compilation: "Compilation") -> None:
        self._compilation = compilation
        self.problems: dict[str, PrecastError] = {}

    def check(self, scope: Scope, names: Iterable[str], what: str) -> None:
        """Report a secret that one of these variables has chosen. Raises SECRET-033 where the policy refuses it."""
        for name in names:
            fact = self._find_fact(scope, name, frozenset())
            if fact:
                self._report(issues.CHOSEN_BY_FACT.error(fact=fact, what=what))

    def note_clear_text(self, key: str) -> None:
        """Report a Sensitive whose text is in a data file."""
        error = issues.CLEAR_TEXT.error(key=key)
        self.problems.setdefault(error.message, error)

    def _report(self, error: PrecastError) -> None:
        if error.message in self.problems:
            return
        self.problems[error.message] = error
        if self._compilation.inputs.ask(SecretPolicy()) == "refuse":
            raise error

    def _find_fact(self, scope: Scope, name: str, seen: frozenset[str]) -> str:
        """The fact that a variable is, or is made of; empty if the variable does not come from a fact."""
        plain = name.removeprefix("::")
        if plain == "facts":
            return "facts"
        if plain in _TRUSTED or plain in seen:
            return ""
        holder = self._find_holder(scope, plain)
        if holder is None:
            leaf = plain.rpartition("::")[2]
            is_fact = "::" not in plain and self._compilation.is_fact(scope, leaf, False)
            return leaf if is_fact and self._compilation.is_fact_name(leaf) else ""
        for source in self._sources_of(holder.frame, plain.rpartition("::")[2]):
            if fact := self._find_fact(holder, source, seen | {plain}):
                return fact
        return ""

    def _find_holder(self, scope: Scope, name: str) -> Scope | None:
        """The scope in which code has set a variable."""
        class_name, _, leaf = name.rpartition("::")
        frame = self._compilation.frames.get(class_name) if class_name else None
        around: Scope | None = frame.scope if frame is not None else None if class_name else scope
        while around is not None:
            if leaf in around.variables:
                return around
            around = around.parent
        return None

    def _sources_of(self, frame: Frame, name: str) -> Iterator[str]:
        """The variables that appear where a variable is assigned, or as the default of a parameter, in the file of its frame."""
        definition = None if frame.resource is None else frame.resource.definition
        programs = self._compilation.loader.programs
        paths = programs if definition is None else [definition.source.path]
        for path in paths:
            if path in programs:
                yield from assignments(programs[path]).get(name, ())


def assignments(program: ast.Program) -> dict[str, tuple[str, ...]]:
    """The variables that a file assigns or gives a default, each with those that it is made of; looked for once for a text."""
    # The text is the key and not the tree, whose hash would be computed from all of its nodes each time.
    text = program.source.text
    if text not in _assignments:
        if len(_assignments) >= _MAX_FILES:
            _assignments.clear()
        _assignments[text] = _find_assignments(program)
    return _assignments[text]


def _find_assignments(program: ast.Program) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for node in walk(program):
        if isinstance(node, ast.Assignment):
            sources = variables(node.value)
            targets = variables(node.target)
        elif isinstance(node, ast.Parameter) and node.default is not None:
            sources, targets = variables(node.default), (node.name,)
        else:
            continue
        for target in targets:
            found.setdefault(target, {}).update(dict.fromkeys(sources))
    return {name: tuple(sources) for name, sources in found.items()}
