"""Holds a node that several machines claim to be, until an operator has chosen one of them.

The server cannot know which machine is the right one: the one that connected first may be the copy. So neither gets orders, none can send
records, and all are shown with what tells them apart. The chosen machine is the node from its next attempt on, seconds later; the
others are refused, and told what to do.
"""

import logging
from datetime import datetime, timedelta

import msgspec

from precast.base import digests
from precast.base.errors import PrecastError
from precast.services import texts
from precast.services.issues import NO_SUCH_NODE
from precast.services.sessions import issues
from precast.services.sessions.copies import find_machine, next_epoch, remember
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.sessions.machines import (
    MAX_MACHINES,
    Machine,
    delete_machines,
    list_machines,
    put_machine,
)
from precast.store.sessions.sessions import PreviousSession, Sessions, SessionStart
from precast.wire.identity.names import is_name
from precast.wire.nodes.presence import MachineChoice, MachineView, NodeMachines
from precast.wire.sessions import Hello

log = logging.getLogger("precast.sessions")

# A machine that keeps connecting is written down again only after this time, unless it says something new.
NOTED_FOR = timedelta(minutes=1)
NAME_CHARS = 8


class MachineService:
    """Holds nodes and lets operators choose; holds no state between calls."""

    def __init__(self, database: Database, sessions: Sessions, audit: AuditLog) -> None:
        self._database = database
        self._sessions = sessions
        self._audit = audit

    def is_refused(self, node: str, before: PreviousSession, hello: Hello) -> Transaction[bool]:
        """Whether an operator has refused this machine, although it knows the last attempt of the one that was chosen."""
        if not before.machine:
            return False  # no operator had to choose
        current = _describe_session(before, self._database.clock.now())
        found = find_machine([current, *(yield from list_machines(node))], hello)
        return found is not None and found != current

    def refuse(self, arrival: SessionStart, hello: Hello, before: PreviousSession) -> Transaction[PrecastError]:
        """Write down a machine that is not the node, or may not be it. Returns the error that it is refused with.

        The node's session is locked. It is put on hold, unless an operator has refused this machine before.
        """
        node, now = arrival.node, self._database.clock.now()
        machines = yield from list_machines(node)
        known = find_machine(machines, hello)
        if before.held_at is None and known is not None and known.refused_at is not None:
            yield from self._note(arrival, hello, known, now)
            return issues.REFUSED_MACHINE.error(node=node, machine=known.machine)
        if before.held_at is None:
            current = _describe_session(before, now)
            machines = [*machines, current]
            yield from put_machine(node, current)
            yield from self._sessions.hold(node, next_epoch(before, hello))
            details = {"address": arrival.address, "boot_id": arrival.boot_id, "machine_id": arrival.machine_id}
            yield from self._audit.add(f"node:{node}", "session.hold", node, **details)
            log.warning("%s is on hold: two machines use its certificate, or it was set back to an earlier state", node)
        noted = yield from self._note(arrival, hello, known, now)
        others = sorted(
            (machine for machine in machines if machine.machine != noted.machine), key=lambda one: one.last_at
        )
        excess = max(0, len(others) + 1 - MAX_MACHINES)
        yield from delete_machines(node, [machine.machine for machine in others[:excess]])
        return issues.HELD_NODE.error(node=node, machine=noted.machine)

    def _note(self, arrival: SessionStart, hello: Hello, known: Machine | None, now: datetime) -> Transaction[Machine]:
        first = known or Machine(_name(hello.attempts[0]), "", [], "", "", "", "", None, now, now)
        noted = msgspec.structs.replace(
            first,
            instance=hello.instance,
            attempts=remember(first.attempts, hello),
            machine_id=arrival.machine_id,
            boot_id=arrival.boot_id,
            address=arrival.address,
            agent=arrival.agent,
            given=hello.last,
            last_at=first.last_at if now - first.last_at < NOTED_FOR else now,
        )
        if noted != known:
            yield from put_machine(arrival.node, noted)
        return noted

    async def choose(self, node: str, choice: MachineChoice, actor: str) -> NodeMachines:
        """Make one of the machines the node; all others are refused.

        Repeating it changes nothing. Raises NotFoundError NODE-001, SESSION-010 if the node has no such machine.
        """
        texts.check("the reason", choice.why)
        if not is_name(node):
            raise NO_SUCH_NODE.error(node=repr(node[:80]))
        return await self._database.write(self._choose, node, choice, actor)

    def view(self, node: str) -> Transaction[NodeMachines]:
        """Read what is known about the machines of a node."""
        presence = yield from self._sessions.find_presence(node)
        if presence is None:
            return NodeMachines(node, None, [])
        machines = yield from list_machines(node)
        return NodeMachines(node, presence.held_at, [_view(machine, presence.held_at) for machine in machines])

    def _choose(self, node: str, choice: MachineChoice, actor: str) -> Transaction[NodeMachines]:
        if (yield from self._sessions.find_presence(node)) is None:
            raise issues.NEVER_CONNECTED.error(node=node)
        before = yield from self._sessions.lock(node)
        machines = yield from list_machines(node)
        chosen = next((machine for machine in machines if machine.machine == choice.machine), None)
        if chosen is None and (before.held_at is not None or choice.machine != before.machine or not before.machine):
            raise issues.NO_SUCH_MACHINE.error(node=node, machine=choice.machine[:80])
        if chosen is not None:
            yield from self._replace(node, before, machines, chosen)
            yield from self._audit.add(
                actor,
                "node.choose-machine",
                node,
                machine=chosen.machine,
                machine_id=chosen.machine_id,
                boot_id=chosen.boot_id,
                address=chosen.address,
                refused=[machine.machine for machine in machines if machine != chosen],
                why=choice.why,
            )
        return (yield from self.view(node))

    def _replace(
        self, node: str, before: PreviousSession, machines: list[Machine], chosen: Machine
    ) -> Transaction[None]:
        """Make `chosen` the node, and refuse all others, also the one that was the node before."""
        now = self._database.clock.now()
        others = [machine for machine in machines if machine != chosen]
        if before.held_at is None:
            others.append(_describe_session(before, now))
        for machine in others:
            yield from put_machine(node, msgspec.structs.replace(machine, refused_at=machine.refused_at or now))
        yield from delete_machines(node, [chosen.machine])
        yield from self._sessions.choose(node, chosen)


def _describe_session(before: PreviousSession, now: datetime) -> Machine:
    """The machine that was the node until now."""
    return Machine(
        before.machine or _name(before.attempts[0]),
        before.instance,
        before.attempts,
        before.machine_id,
        before.boot_id,
        before.address,
        before.agent,
        None,
        before.connected_at,
        now if before.is_alive else before.disconnected_at or before.connected_at,
    )


def _name(attempt: str) -> str:
    """A short name for a machine, from the attempt by which it was first seen."""
    return digests.of_bytes(attempt.encode())[:NAME_CHARS]


def _view(machine: Machine, held_at: datetime | None) -> MachineView:
    return MachineView(
        machine=machine.machine,
        state="refused" if held_at is None else "on hold",
        machine_id=machine.machine_id,
        boot_id=machine.boot_id,
        address=machine.address,
        agent=machine.agent,
        first_at=machine.first_at,
        last_at=machine.last_at,
    )
