"""`precast_bridge`: whether this machine has a Puppet with which it applies types that Precast does not implement."""

from precast.agent.facts.machine import Facts, Machine
from precast.resources.bridge.installation import find_puppet


def collect(machine: Machine) -> Facts:
    found = find_puppet(machine.root)
    if found is None:
        return {"precast_bridge": {"available": False}}
    return {"precast_bridge": {"available": True, "puppet": found.version, "tested": found.is_tested}}
