"""The groups of built-in facts."""

from collections.abc import Callable

from precast.agent.facts.groups import (
    disks,
    dmi,
    identity,
    kernel,
    memory,
    mounts,
    network,
    operating_system,
    processors,
    puppet,
    ssh,
    timezone,
    uptime,
    virtualization,
)
from precast.agent.facts.machine import Facts, Machine
from precast.agent.facts.sources import Source, only_facts

GROUP_S = 5.0

GROUPS: dict[str, Callable[[Machine], Facts]] = {
    "os": operating_system.collect,
    "kernel": kernel.collect,
    "identity": identity.collect,
    "networking": network.collect,
    "processors": processors.collect,
    "memory": memory.collect,
    "mountpoints": mounts.collect,
    "disks": disks.collect,
    "dmi": dmi.collect,
    "virtual": virtualization.collect,
    "ssh": ssh.collect,
    "timezone": timezone.collect,
    "puppet": puppet.collect,
    "system_uptime": uptime.collect,
}


def sources(machine: Machine) -> list[Source]:
    return [_source(machine, name, collect) for name, collect in GROUPS.items()]


def _source(machine: Machine, name: str, collect: Callable[[Machine], Facts]) -> Source:
    return Source(f"the group {name}", GROUP_S, lambda _: only_facts(collect(machine)))
