"""The facts of a node as its compile sees them: the collected ones, those that Puppet's agent adds, and facter's flat names.

Every compile for a machine sees them through this class: on a server, in a compile worker, and in a command. What a node collected
overrides what is derived, except for the name of its certificate.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from precast.lang.inputs import ABSENT, Answer, Path
from precast.lang.legacy_facts import find_legacy_fact, legacy_facts
from precast.lang.settings import PUPPET_VERSION

_AGENT_FACTS = {"clientnoop": False, "clientversion": PUPPET_VERSION, "puppetversion": PUPPET_VERSION}


class CompileFacts:
    """Answers for paths into the facts of one node. Flat names are derived when they are first read.

    Exact facts are all that there are: nothing is derived from them.
    """

    def __init__(self, certname: str, collected: Mapping[str, Any], *, is_exact: bool = False) -> None:
        self._certname, self._collected, self._is_exact = certname, collected, is_exact

    def find(self, path: Path) -> Answer:
        """The value at a path; ABSENT if any step does not exist."""
        if not path:
            return self._all
        return follow(self._find_name(path[0]), path[1:])

    def is_absent(self, name: str) -> bool:
        return self._find_name(name) is ABSENT

    def _find_name(self, name: str | int) -> Answer:
        if name == "clientcert" and not self._is_exact:
            return self._certname
        if name in self._collected:
            return self._collected[str(name)]
        if self._is_exact:
            return ABSENT
        if name in _AGENT_FACTS:
            return _AGENT_FACTS[str(name)]
        value = find_legacy_fact(self._collected, str(name))
        return ABSENT if value is None else value

    @cached_property
    def _all(self) -> dict[str, Any]:
        collected = dict(self._collected.items())
        if self._is_exact:
            return collected
        return {**legacy_facts(collected), **_AGENT_FACTS, **collected, "clientcert": self._certname}


def follow(data: Any, path: Path) -> Answer:
    """The value at a path of plain data; ABSENT if any step does not exist."""
    for step in path:
        if not _has(data, step):
            return ABSENT
        data = data[step]
    return data


def _has(data: Any, step: str | int) -> bool:
    if isinstance(data, dict):
        return step in data
    return isinstance(data, list | tuple) and isinstance(step, int) and -len(data) <= step < len(data)
