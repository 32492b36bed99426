"""Every short history of a machine, with crashes at every point: a healthy machine is never held, and a copy is always found.

The model has what both sides write to their disks, and nothing else. All histories up to a length are tried, so a test fails by the
shortest history that breaks a promise.
"""

import itertools
from collections.abc import Iterator

import msgspec
import pytest

from precast.base.clock import from_micros
from precast.services.sessions.copies import Verdict, judge, next_epoch, remember
from precast.store.sessions.sessions import PreviousSession
from precast.wire.sessions import MAX_ATTEMPTS, Hello

NEVER = from_micros(0)
FRESH = PreviousSession(0, None, "", [], "", "", "", "", "", NEVER, None, None, False)


class Server:
    """The rows of one node in the servers' database."""

    def __init__(self) -> None:
        self.session, self.received = FRESH, dict[str, int]()

    def copy(self) -> "Server":
        copy = Server()
        copy.session, copy.received = self.session, dict(self.received)
        return copy

    def restore(self, backup: "Server | None" = None) -> None:
        if backup is not None:
            self.session, self.received = backup.session, dict(backup.received)

    def begin(self, hello: Hello) -> Verdict:
        verdict = judge(self.session, hello, self.received.get(hello.instance))
        if verdict is Verdict.SAME:
            epoch = next_epoch(self.session, hello)
            self.session = msgspec.structs.replace(
                self.session,
                epoch=epoch,
                instance=hello.instance,
                attempts=remember(self.session.attempts, hello),
                machine_id=hello.machine_id,
            )
            self.received[hello.instance] = min(self.received.get(hello.instance, 0), hello.last)
        return verdict


class Machine:
    """The disk of one machine, and the names that it chooses."""

    def __init__(self, names: Iterator[str], machine_id: str = "m1") -> None:
        self.names, self.machine_id = names, machine_id
        self.instance, self.attempts, self.epoch, self.given = next(names), list[str](), 0, 0
        self.is_open = False  # whether it has a session: only then do records get numbers
        self.late: list[Hello] = []  # what a paused server has not read yet

    def copy(self) -> "Machine":
        copy = Machine(self.names, self.machine_id)
        copy.instance, copy.attempts, copy.epoch, copy.given = self.instance, [*self.attempts], self.epoch, self.given
        return copy

    def greet(self) -> Hello:
        self.is_open = False
        if len(self.attempts) < MAX_ATTEMPTS:
            self.attempts.insert(0, next(self.names))
        return Hello(
            [1], self.instance, [*self.attempts], "boot", "1", self.epoch, last=self.given, machine_id=self.machine_id
        )

    def store_welcome(self, server: Server) -> None:
        self.attempts, self.epoch, self.is_open = [self.attempts[0]], server.session.epoch, True

    def send_record(self, server: Server, *, is_lost: bool) -> None:
        """Number a record and send it. A session that another one has replaced can store nothing."""
        self.given += self.is_open
        if (
            self.is_open
            and not is_lost
            and (self.instance, self.epoch) == (server.session.instance, server.session.epoch)
        ):
            server.received[self.instance] = self.given

    def replace_store(self) -> None:
        self.is_open = False
        self.instance, self.attempts, self.epoch, self.given = next(self.names), [], 0, 0


def connect(machine: Machine, server: Server) -> bool:
    """Connect without a fault; False if the machine is held."""
    verdict = server.begin(machine.greet())
    if verdict is Verdict.SAME:
        machine.store_welcome(server)
    return verdict is not Verdict.OTHER


def act(event: str, machine: Machine, server: Server, backups: list[Server]) -> bool:
    """One event of a machine's history; False if the machine is held."""
    match event:
        case "connect":
            return connect(machine, server)
        case "welcome lost":  # or the machine crashed before it had stored the welcome
            return server.begin(machine.greet()) is not Verdict.OTHER
        case "hello lost":  # or the machine crashed after it had stored the attempt
            machine.greet()
        case "hello late":
            machine.late.append(machine.greet())
        case "late hello is read":
            return all(server.begin(machine.late.pop(0)) is not Verdict.OTHER for _ in machine.late[:1])
        case "record" | "record lost":
            machine.send_record(server, is_lost=event == "record lost")
        case "server restored":
            server.restore(*backups)
        case "server backed up":
            backups[:] = [server.copy()]
        case "store replaced":
            machine.replace_store()
    return True


EVENTS = ("connect", "welcome lost", "hello lost", "hello late", "late hello is read", "record", "record lost")
RARE = ("server backed up", "server restored", "store replaced")


def names() -> Iterator[str]:
    return (f"n{number}" for number in itertools.count())


@pytest.mark.parametrize("first", EVENTS)
def test_healthy_machine_is_never_held_whatever_gets_lost(first: str) -> None:
    for rest in itertools.product(EVENTS, repeat=4):
        machine, server = Machine(names()), Server()
        for event in ("connect", first, *rest, "connect", "connect"):
            assert act(event, machine, server, []), (first, rest)


@pytest.mark.parametrize("first", RARE)
def test_healthy_machine_is_never_held_after_a_restore_of_either_side(first: str) -> None:
    for rest in itertools.product(("connect", "welcome lost", "hello lost", "record", *RARE), repeat=4):
        machine, server, backups = Machine(names()), Server(), list[Server]()
        for event in ("connect", first, *rest, "connect", "connect"):
            assert act(event, machine, server, backups), (first, rest)


def test_machine_without_an_answer_for_long_is_not_held() -> None:
    machine, server = Machine(names()), Server()
    assert connect(machine, server)
    for event in ("welcome lost", *("hello lost",) * 3 * MAX_ATTEMPTS, "connect", "connect"):
        assert act(event, machine, server, []), event


@pytest.mark.parametrize(
    "before", list(itertools.product(("connect", "welcome lost", "record", "hello lost"), repeat=2))
)
def test_copy_is_found_as_soon_as_both_have_connected(before: tuple[str, ...]) -> None:
    """Whichever connects first, and whatever happens in between: of the two only one is ever accepted."""
    own = ("connect", "welcome lost", "hello lost", "record")
    for history in itertools.product(itertools.product((0, 1), own), repeat=4):
        original, server = Machine(names()), Server()
        for event in ("connect", *before):
            act(event, original, server, [])
        machines = (original, original.copy())
        accepted = set[int]()
        for which, event in (*history, (0, "connect"), (1, "connect")):
            is_good = act(event, machines[which], server, [])
            if event in ("connect", "welcome lost"):
                if not is_good:
                    break  # the node is held
                accepted.add(which)
        else:
            raise AssertionError(f"nothing was found: {history}")
        assert len(accepted) <= 1, history


@pytest.mark.parametrize("events", list(itertools.product(("connect", "record"), repeat=3)))
def test_machine_that_is_set_back_is_held_unless_nothing_has_happened_since(events: tuple[str, ...]) -> None:
    machine, server = Machine(names()), Server()
    connect(machine, server)
    snapshot = machine.copy()
    for event in events:
        act(event, machine, server, [])
    assert not connect(snapshot, server)


def test_image_with_another_machine_id_is_found_at_once() -> None:
    original, server = Machine(names()), Server()
    connect(original, server)
    image = original.copy()
    image.machine_id = "m2"
    assert not connect(image, server)
    image.machine_id = ""
    assert connect(image, server)
