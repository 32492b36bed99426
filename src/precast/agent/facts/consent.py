"""The fact `precast_agent`: what this agent's own configuration allows, so that a server can say beforehand what the node would refuse.

The node itself decides, whatever a server knows of it.
"""

from precast.agent.facts.machine import Facts
from precast.agent.facts.sources import Source, only_facts
from precast.agent.settings import AgentSettings

NAME = "precast_agent"
_DEADLINE_S = 1.0


def source(settings: AgentSettings) -> Source:
    return Source("the agent's settings", _DEADLINE_S, lambda _: only_facts(describe(settings)))


def describe(settings: AgentSettings) -> Facts:
    return {NAME: {"allow_exec": settings.allow_exec}}


def allows_commands(facts: Facts) -> bool:
    """Whether collected facts say that commands are allowed."""
    return bool(facts.get(NAME, {}).get("allow_exec"))
