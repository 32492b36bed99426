"""Numbered levels of an expansion, for systems that only know "do this on all these nodes, then go on".

An instance is in a later level than everything that it waits for on other nodes. On the same node it may be in the same level, because the
steps of a node are done in their order. Levels also keep what a run keeps by waiting: how many nodes do a task at a time, and that a
canary is first. Where a run waits for one of several instances, a level waits for all of them.
"""

from collections import defaultdict
from collections.abc import Iterator

from precast.plans.model import SYNC_NODE, Expansion, InstanceKey


def find_levels(expansion: Expansion) -> list[int]:
    """The level of each instance, from 1; that of a stage is the one in which all that it waits for has ended."""
    return _Levels(expansion).find()


class _Levels:
    """Finds the levels in the order of the expansion."""

    def __init__(self, expansion: Expansion) -> None:
        self._expansion = expansion
        self._levels: list[int] = []
        self._counts: dict[tuple[int, int], int] = defaultdict(int)  # by task and level, how many instances
        self._joints: dict[int, int] = {}  # by joint, the first level behind all of its members
        self._canaries: dict[int, int] = {}  # by task, the level of its canary
        self._reboots: dict[str, int] = {}  # by node, the level of its last reboot

    def find(self) -> list[int]:
        for index, (key, *_) in enumerate(self._expansion.instances):
            least = max((1, *self._before(index), self._reboots.get(key.node, 0) + 1))
            level = self._find_room(key, least)
            self._levels.append(level)
            self._counts[key.task, level] += 1
            if self._expansion.canaries.get(key.task) == key.node:
                self._canaries[key.task] = level
            if self._expansion.plan.tasks[key.task - 1].type == "reboot":
                self._reboots[key.node] = level
        return self._levels

    def _find_room(self, key: InstanceKey, least: int) -> int:
        """The first level from the least one that keeps the task's limit and is behind its canary."""
        level = max(least, self._canaries.get(key.task, 0) + 1)
        at_once = self._expansion.at_once.get(key.task)
        while at_once is not None and self._counts[key.task, level] >= at_once:
            level += 1
        return level

    def _before(self, index: int) -> Iterator[int]:
        """The least levels that what an instance waits for leaves it."""
        instance = self._expansion.instances[index]
        for needed in (*instance.needs, *(member for members in instance.needs_any for member in members)):
            yield self._behind(needed, instance.key.node)
        for joint in instance.joins:
            if joint not in self._joints:
                self._joints[joint] = max(self._behind(member, None) for member in self._expansion.joints[joint])
            yield self._joints[joint]

    def _behind(self, index: int, node: str | None) -> int:
        other = self._expansion.instances[index].key.node
        return self._levels[index] + (other not in (node, SYNC_NODE))
