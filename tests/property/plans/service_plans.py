"""Random small plans as people write them, for runs at the service level: text, the nodes' roles, and what fails how often."""

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from precast.wire.plans.bodies import SubsetBody

NODES = ("a", "b", "c")
ROLES = ("x", "y")
LOOK = "type: skipped, test_pre: {file: /, state: directory}"  # it needs no right to run commands
# How often a task fails on a node before it succeeds.
Failures = Mapping[str, int]


class RandomRun(NamedTuple):
    """A plan over nodes. `failures` is by `TASK on NODE`."""

    text: str
    roles: Mapping[str, list[str]]
    master: str
    subset: SubsetBody
    at_once: str | None
    failures: Failures


def random_run(seed: int, most: int = 6) -> RandomRun:
    """A run without cycles: a task waits for earlier ones only."""
    random = Random(seed)
    names = [f"t{number}" for number in range(1, random.randint(2, most) + 1)]
    roles = {node: [role for role in ROLES if random.random() < 0.7] for node in NODES}
    texts = [_task(random, names[:at], name) for at, name in enumerate(names)]
    if random.random() < 0.3:
        texts.insert(random.randint(0, len(texts)), _stage(random, names))
    if random.random() < 0.5:
        role = random.choice(("x", "'*'"))
        texts.append(f"- {{id: group, type: group, roles: [{role}], fault_tolerance: {random.choice((0, 1, 2))}}}")
    skip = [name for name in names if random.random() < 0.1]
    failures = {f"{name} on {node}": random.choice((0, 0, 0, 0, 1, 2)) for name in names for node in NODES}
    return RandomRun(
        "\n".join(texts) + "\n",
        roles,
        random.choice(NODES),
        SubsetBody(skip=skip if len(skip) < len(names) else []),
        random.choice((None, None, "1", "2")),
        failures,
    )


def _task(random: Random, earlier: list[str], name: str) -> str:
    role = random.choice(("x", "y", "'*'", "'*'", "master"))
    fields = [f"id: {name}", LOOK, f"roles: [{role}]", "lost_after: 30s"]
    if earlier and random.random() < 0.6:
        fields.append(f"requires: [{random.choice(earlier)}]")
    if earlier and random.random() < 0.5:
        role = random.choice(("", ", role: x", ", role: master", ", role: self"))
        policy = random.choice(("", "", ", policy: any"))
        fields.append(f"cross_depends: [{{name: {random.choice(earlier)}{role}{policy}}}]")
    if random.random() < 0.3:
        canary = random.choice(("", "", ", canary: true"))
        fields.append(f"parameters: {{strategy: {{type: parallel, amount: {random.choice((1, 2))}{canary}}}}}")
    if random.random() < 0.15:
        fields.append("approval: may it?")
    if random.random() < 0.12:
        fields.append("fail_on_error: false")
    if random.random() < 0.1:
        fields.append("always: true")
    return f"- {{{', '.join(fields)}}}"


def _stage(random: Random, names: list[str]) -> str:
    at = random.randint(1, len(names) - 1)
    before, after = random.choice(names[:at]), random.choice(names[at:])
    joins = f"cross_depends: [{{name: {before}}}], cross_depended_by: [{{name: {after}}}]"
    return f"- {{id: stage, type: stage, {joins}}}"
