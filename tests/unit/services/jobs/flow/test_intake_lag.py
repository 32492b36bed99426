"""The lag of the intake: of what was committed since the last reading, and of what still waits."""

from precast.services.jobs.flow.intake_lag import IntakeLag


class Server:
    """A lag with a clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 10.0
        self.lag = IntakeLag(lambda: self.now_s)


def test_lag_without_records_is_zero() -> None:
    assert Server().lag.read() == 0.0


def test_longest_lag_since_the_last_reading_is_read_once() -> None:
    server = Server()
    server.lag.arrive("a")
    server.now_s += 2.0
    server.lag.arrive("b")
    server.lag.commit("a")
    server.lag.commit("b")
    assert server.lag.read() == 2.0
    assert server.lag.read() == 0.0


def test_record_that_waits_counts_by_its_age() -> None:
    server = Server()
    server.lag.arrive("a")
    server.now_s += 3.0
    server.lag.arrive("b")
    assert server.lag.read() == 3.0
    server.now_s += 1.0
    assert server.lag.read() == 4.0
    server.lag.commit("a")
    assert server.lag.read() == 4.0
    assert server.lag.read() == 1.0


def test_first_record_since_the_commit_counts() -> None:
    server = Server()
    server.lag.arrive("a")
    server.now_s += 1.0
    server.lag.arrive("a")
    server.lag.commit("a")
    assert server.lag.read() == 1.0


def test_commit_of_a_connection_without_records_changes_nothing() -> None:
    server = Server()
    server.lag.commit("a")
    assert server.lag.read() == 0.0
