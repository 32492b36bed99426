"""Tells the machine that is a node from its copies, and from itself in an earlier state.

Two machines with one certificate and one state directory cannot be told apart until they have done something each. So both sides store
the same counters, and compare them whenever a machine connects:

- Before it says hello, a machine writes a random name for this *attempt* to its disk, and sends it with the names of its earlier attempts
  that no server has answered, and of the last one that was. The server stores the newest it has seen. A machine that does not know it has
  missed a session of this node: it is a copy, or was set back.
- Records are numbered on the node's disk before they are sent. A machine that has given fewer numbers than the server has stored was set
  back, even if it knows the last attempt: a snapshot of a running machine has the attempt of its session, and its boot id.
- A machine id that differs is another machine, whatever else it knows: an image of an enrolled machine.

What happens to a healthy machine must not look like that: an answer that is lost, a crash between any two writes, a hello that a paused
server reads after the machine has connected elsewhere, a new store after a damaged one, a server whose database was restored.
"""

from enum import Enum

from precast.store.sessions.machines import Machine
from precast.store.sessions.sessions import PreviousSession
from precast.wire.sessions import Hello

# How many earlier attempts of a machine are remembered, to recognise a hello that was overtaken.
REMEMBERED = 12
# A database that was restored is behind its nodes by the sessions that they have had since. No node can have had more than this.
MAX_EPOCHS_LOST = 2**32


class Verdict(Enum):
    """Which machine says hello."""

    SAME = "same"  # the machine that is the node
    OVERTAKEN = "overtaken"  # the same one, which has connected since it said this hello
    OTHER = "other"  # another machine, or the same one in an earlier state


def judge(before: PreviousSession, hello: Hello, received: int | None) -> Verdict:
    """Compare a hello with the node's last session; `received` is the number that the server has of the machine's local store."""
    if not before.attempts:
        return Verdict.SAME  # the first session of this life
    if hello.attempts[0] in before.attempts[1:]:
        return Verdict.OVERTAKEN
    if _is_other_id(before.machine_id, hello.machine_id):
        return Verdict.OTHER
    if before.epoch < hello.epoch <= before.epoch + MAX_EPOCHS_LOST:
        return Verdict.SAME  # our database was restored to an earlier time
    if received is None and not hello.epoch:
        return Verdict.SAME  # a new store: the old one was damaged or deleted
    is_last = before.instance == hello.instance and before.attempts[0] in hello.attempts
    return Verdict.SAME if is_last and hello.last >= (received or 0) else Verdict.OTHER


def next_epoch(before: PreviousSession, hello: Hello) -> int:
    """The epoch after this hello: above the stored one, and above the machine's if our database was restored.

    An epoch that the machine must have invented does not count. Epochs never decrease, so the next machine of that name would inherit it.
    """
    is_possible = hello.epoch <= before.epoch + MAX_EPOCHS_LOST
    return max(before.epoch, hello.epoch if is_possible else 0) + 1


def remember(before: list[str], hello: Hello) -> list[str]:
    """The attempts of a machine that are remembered after this hello, newest first."""
    older = [attempt for attempt in before if attempt not in hello.attempts]
    return [*hello.attempts, *older][: max(REMEMBERED, len(hello.attempts))]


def find_machine(machines: list[Machine], hello: Hello) -> Machine | None:
    """Find the machine that says hello among those that were seen; None if it is a new one.

    A copy knows the attempts from before it was made, so the machine is the one whose last attempt is the newest that is known.
    """
    known = {
        (hello.attempts.index(machine.attempts[0]) if machine.attempts[0] in hello.attempts else 0): machine
        for machine in machines
        if _is_possible(machine, hello)
    }
    return known[min(known)] if known else None


def _is_possible(machine: Machine, hello: Hello) -> bool:
    """Whether the machine may have said this hello."""
    if machine.instance != hello.instance or _is_other_id(machine.machine_id, hello.machine_id):
        return False
    if machine.given is not None and hello.last < machine.given:
        return False
    return machine.attempts[0] in hello.attempts or hello.attempts[0] in machine.attempts


def _is_other_id(one: str, other: str) -> bool:
    """Whether two machine ids are of different machines; a machine without an id can be any."""
    return bool(one and other) and one != other
