"""Loads YAML safely: only plain values, and a bounded number of aliases, because aliases can multiply. Dates are loaded as text.

It uses PyYAML's loader in Python instead of libyaml, which crashes the process on deep nesting.
"""

from typing import Any, ClassVar

import yaml  # type: ignore[import-untyped]

MAX_ALIASES = 32
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
    """Load the value of one document. Raises one of BAD_YAML."""
    return yaml.load(text, _Loader)  # noqa: S506 - it is a SafeLoader
