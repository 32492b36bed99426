"""A value of a plan under the name by which messages call it: `role of cross-depends[2] of task web`.

A reader takes a field and returns what it has read. If it cannot, it reports an error and returns None; so one load finds all errors.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from precast.base.errors import Issue
from precast.plans import issues
from precast.plans.loading.nodes import Node, shorten
from precast.plans.loading.problems import Problems
from precast.plans.model import Position


class Field(NamedTuple):
    """A value with its name and the problems to add to."""

    node: Node
    label: str
    problems: Problems

    @property
    def at(self) -> Position:
        return self.node.at

    def refuse(self, wanted: str, hint: str = "") -> None:
        """Report that the value must be something else."""
        found = self.node.describe()
        self.error(issues.WRONG_VALUE, what=self.label, wanted=wanted, found=found, advice=hint or f"write {wanted}")

    def error(self, issue: Issue, /, **values: object) -> None:
        self.problems.error(issue, self.at, **values)

    def warn(self, issue: Issue, /, **values: object) -> None:
        self.problems.warn(issue, self.at, **values)

    def items(self) -> "list[Field]":
        """The items of a list; of anything else the value itself, since a list of one may be written without brackets."""
        if self.node.items is None:
            return [] if self.node.is_null else [self]
        return [
            Field(item, f"item {number} of {self.label}", self.problems)
            for number, item in enumerate(self.node.items, 1)
        ]

    def entries(self) -> "Iterator[tuple[str, Field]]":
        for key, entry in (self.node.entries or {}).items():
            yield key, Field(entry.value, f"{shorten(key)} of {self.label}", self.problems)

    def get(self, *names: str) -> "Field | None":
        """The entry under the first of the names that has a value."""
        for name in names:
            entry = (self.node.entries or {}).get(name)
            if entry is not None and not entry.value.is_null:
                return Field(entry.value, f"{name} of {self.label}", self.problems)
        return None

    def place_of(self, key: str) -> Position:
        """Where a key of a mapping stands."""
        return (self.node.entries or {})[key].at

    def require_mapping(self, wanted: str, hint: str = "") -> bool:
        """Whether the value is a mapping; if not, an error is reported."""
        if self.node.entries is None:
            self.refuse(wanted, hint)
        return self.node.entries is not None

    def warn_unknown(self, known: Iterable[str]) -> None:
        """Warn of every key that is not among `known`."""
        for key in self.node.entries or {}:
            if key not in known:
                suggestion = self.problems.suggest(key, known)
                self.problems.warn(
                    issues.UNKNOWN_FIELD, self.place_of(key), field=shorten(key), what=self.label, guess=suggestion
                )

    def refuse_unknown(self, known: Iterable[str]) -> None:
        """Report an error for every key that is not among `known`: where an ignored key would weaken what it is part of."""
        for key in self.node.entries or {}:
            if key not in known:
                self.problems.error(
                    issues.NOT_AN_OPTION,
                    self.place_of(key),
                    option=shorten(key),
                    what=self.label,
                    guess=self.problems.suggest(key, known),
                    known=", ".join(known),
                )


def read_expression(field: Field) -> str | None:
    """The text of `{yaql_exp: …}`; None if the value is anything else."""
    entries: dict[str, Any] = field.node.entries or {}
    if set(entries) != {"yaql_exp"} or not entries["yaql_exp"].value.is_text:
        return None
    return str(entries["yaql_exp"].value.text).strip()
