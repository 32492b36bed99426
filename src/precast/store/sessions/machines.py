"""The machines that use one node's certificate although only one of them can be the node.

A row exists for a machine that was seen and is not the node at present: while the node is on hold every machine has one, after an
operator's choice only those that are refused. The machine that is the node is described by its session.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.query import Query, Row, Transaction

# A node has at most this many: the one that was not seen for the longest time is forgotten, and seen again when it connects.
MAX_MACHINES = 8

LIST = Query(
    "machines.list",
    """
    SELECT machine, instance, attempts, machine_id, boot_id, address, agent, given, first_at, last_at, refused_at
    FROM session_machine WHERE node = :node ORDER BY first_at, machine LIMIT :limit
    """,
)
PUT = Query(
    "machines.put",
    """
    INSERT INTO session_machine
        (node, machine, instance, attempts, machine_id, boot_id, address, agent, given, first_at, last_at, refused_at)
    VALUES (:node, :machine, :instance, :attempts, :machine_id, :boot_id, :address, :agent, :given, :first, :last, :refused)
    ON CONFLICT (node, machine) DO UPDATE SET instance = excluded.instance, attempts = excluded.attempts,
        machine_id = excluded.machine_id, boot_id = excluded.boot_id, address = excluded.address, agent = excluded.agent,
        given = excluded.given, last_at = excluded.last_at, refused_at = excluded.refused_at
    """,
)
DELETE = Query("machines.delete", "DELETE FROM session_machine WHERE node = :node AND machine = :machine")
DELETE_NODE = Query("machines.delete_node", "DELETE FROM session_machine WHERE node = :node")


class Machine(msgspec.Struct, frozen=True):
    """A machine that presented the node's certificate, as it described itself the last time."""

    machine: str  # its name for operators
    instance: str
    attempts: list[str]  # newest first
    machine_id: str
    boot_id: str
    address: str
    agent: str
    given: int | None  # the highest number of its records; None if it is not known
    first_at: datetime
    last_at: datetime
    refused_at: datetime | None = None  # when an operator chose another machine


def list_machines(node: str) -> Transaction[list[Machine]]:
    """List the machines of a node, in the order in which they were first seen."""
    return [_machine(row) for row in (yield LIST(node=node, limit=2 * MAX_MACHINES))]


def put_machine(node: str, machine: Machine) -> Transaction[None]:
    """Store a machine; it replaces the row of the same name."""
    yield PUT(
        node=node,
        machine=machine.machine,
        instance=machine.instance,
        attempts=msgspec.json.encode(machine.attempts).decode(),
        machine_id=machine.machine_id,
        boot_id=machine.boot_id,
        address=machine.address,
        agent=machine.agent,
        given=machine.given,
        first=to_micros(machine.first_at),
        last=to_micros(machine.last_at),
        refused=None if machine.refused_at is None else to_micros(machine.refused_at),
    )


def delete_machines(node: str, machines: Sequence[str]) -> Transaction[None]:
    for machine in machines:
        yield DELETE(node=node, machine=machine)


def delete_node_machines(node: str) -> Transaction[None]:
    yield DELETE_NODE(node=node)


def _machine(row: Row) -> Machine:
    machine, instance, attempts, machine_id, boot_id, address, agent, given, first, last, refused = row
    return Machine(
        machine,
        instance,
        msgspec.json.decode(attempts, type=list[str]),
        machine_id,
        boot_id,
        address,
        agent,
        given,
        from_micros(first),
        from_micros(last),
        from_optional_micros(refused),
    )
