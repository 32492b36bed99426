"""Loads YAML safely: only plain values, and a bounded number of aliases, because aliases can multiply. Dates are loaded as text.

It uses PyYAML's loader in Python instead of libyaml, which crashes the process on deep nesting.
"""

from typing import Any, ClassVar

import yaml  # type: ignore[import-untyped]

MAX_ALIASES = 32
MAX_VALUES = 100_000
# The exceptions that `load` raises for invalid YAML.
BAD_YAML = (yaml.YAMLError, ValueError, RecursionError, LookupError, TypeError)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """The safe loader, with bounded aliases and without dates."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._aliases = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            self._aliases += 1
            if self._aliases > MAX_ALIASES:
                raise yaml.YAMLError(f"more than {MAX_ALIASES} aliases")
        return super().compose_node(parent, index)


def load(text: str) -> Any:
    """Load the value of one document. Raises one of BAD_YAML, also if its aliases stand for too many values."""
    value = yaml.load(text, _Loader)  # noqa: S506 - it is a SafeLoader
    if _weigh(value, {}) > MAX_VALUES:
        raise yaml.YAMLError(f"more than {MAX_VALUES} values, with its aliases")
    return value


def _weigh(value: Any, known: dict[int, int]) -> int:
    """The number of values that a value expands to; one that aliases share is counted as often as it is named, but weighed once."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        known[id(value)] = MAX_VALUES + 1  # in case it contains itself
        items = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_weigh(item, known) for item in items)
    return known[id(value)]
