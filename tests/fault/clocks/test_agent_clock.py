"""Real agents and clocks: each side says whose clock is wrong, and agents come back soon after it is right again."""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from lab.agent_process import AgentProcess
from lab.site import Site
from lab.wrong_clock import WrongClock

pytestmark = [
    pytest.mark.needs("faketime"),
    pytest.mark.timeout(400),
]
HOUR, FORTY_DAYS, SEVENTY_DAYS = timedelta(hours=1), timedelta(days=40), timedelta(days=70)
# The longest pause of an agent after a problem with clocks, and some time to connect.
BACK_S = 60.0 + 30.0


@pytest.fixture
def clock() -> Iterator[WrongClock]:
    """The agent's clock."""
    with closing(WrongClock()) as clock:
        yield clock


@pytest.fixture
def server_clock() -> Iterator[WrongClock]:
    with closing(WrongClock()) as clock:
        yield clock


@pytest.fixture
def site(tmp_path: Path, server_clock: WrongClock) -> Iterator[Site]:
    site = Site(tmp_path / "data")
    site.run_by(server_clock.prefix)
    with site:
        yield site


@pytest.fixture
def agent(site: Site, clock: WrongClock) -> Iterator[AgentProcess]:
    site.enrol("web1")
    agent = AgentProcess(site.directory / "nodes" / "web1", site.url)
    agent.environment = clock.environment
    try:
        yield agent
    finally:
        if agent.process is not None:
            agent.kill()


def connect_again(agent: AgentProcess) -> float:
    began_s = time.monotonic()
    agent.until_connected()
    return time.monotonic() - began_s


@pytest.mark.parametrize(
    ("offset", "words"),
    [(FORTY_DAYS, "40 days behind"), (-FORTY_DAYS, "40 days ahead of")],
    ids=["server ahead", "server behind"],
)
def test_server_started_with_a_wrong_clock_is_named_by_the_agent_which_returns_when_it_is_right(
    site: Site, agent: AgentProcess, server_clock: WrongClock, offset: timedelta, words: str
) -> None:
    agent.start()
    agent.until_connected()
    site.stop()
    server_clock.set(offset)
    site.start()
    status = agent.until(lambda status: "clock" in status.get("connection", {}).get("trouble", ""))
    assert f"this machine's clock is {words} the server's" in status["connection"]["trouble"]
    assert "set the one that is wrong" in status["connection"]["trouble"]
    assert "in between" not in agent.log
    server_clock.correct()
    took_s = connect_again(agent)
    print(f"\nconnected again after {took_s:.0f} s")
    assert took_s < BACK_S


def test_server_whose_clock_jumps_while_it_runs_has_its_agents_back_soon_after(
    site: Site, agent: AgentProcess, server_clock: WrongClock
) -> None:
    agent.start()
    agent.until_connected()
    server_clock.set(FORTY_DAYS)
    agent.until(lambda status: not status["connected"])
    server_clock.correct()
    took_s = connect_again(agent)
    print(f"\nconnected again after {took_s:.0f} s")
    assert took_s < BACK_S


@pytest.mark.parametrize(
    ("offset", "words"),
    [(FORTY_DAYS, "40 days ahead of"), (-FORTY_DAYS, "40 days behind")],
    ids=["agent ahead", "agent behind"],
)
def test_agent_with_a_wrong_clock_says_so_and_returns_when_it_is_right(
    site: Site, agent: AgentProcess, clock: WrongClock, offset: timedelta, words: str
) -> None:
    # The server's certificate is valid for 90 days: further than that, it is not valid by the agent's clock in either direction.
    clock.set(3 * offset if offset > timedelta(0) else offset)
    expected = "120 days ahead of" if offset > timedelta(0) else words
    agent.start()
    status = agent.until(lambda status: "clock" in status.get("connection", {}).get("trouble", ""))
    assert f"this machine's clock is {expected} the server's" in status["connection"]["trouble"]
    attempt = status["connection"]["next_try_at"]
    agent.until(lambda status: status["connection"]["next_try_at"] != attempt)
    told = f"this machine's clock is {expected} the server's"
    assert len([line for line in agent.log.splitlines() if "not connected" in line and told in line]) == 1, "said once"
    clock.correct()
    took_s = connect_again(agent)
    print(f"\nconnected again after {took_s:.0f} s")
    assert took_s < BACK_S


def test_certificate_that_expired_beyond_its_grace_tells_what_to_do(
    site: Site, agent: AgentProcess, clock: WrongClock, server_clock: WrongClock
) -> None:
    """Both clocks are right here: seventy days have passed."""
    site.stop()
    clock.set(SEVENTY_DAYS)
    server_clock.set(SEVENTY_DAYS)
    site.start()
    agent.start()
    told = "enrol this machine again: `precast agent enrol --again --name web1 --token-file FILE`"
    status = agent.until(
        lambda status: (
            told in status.get("certificate", {}).get("trouble", "")
            and told in status.get("connection", {}).get("trouble", "")
        )
    )
    assert "too long ago to be renewed" in status["certificate"]["trouble"]
    assert [line for line in agent.log.splitlines() if told in line], agent.log
