"""Actions by the command line, with a real server and three real daemons."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.server_process import PRECAST
from precast.base import https
from tests.e2e.jobs.run_fleet import DEADLINE_S, NODES, Fleet, running_fleet

pytestmark = pytest.mark.timeout(300)

PROFILE = "class profile { file { '/etc/motd': content => \"Hello.\\n\" } }\n"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("actions"), PROFILE) as created:
        yield created


@pytest.fixture(scope="module")
def commander(fleet: Fleet) -> str:
    return fleet.token("cyd")


def until(fleet: Fleet, action: str, is_so: Callable[[Any], bool], *words: str, token: str = "") -> Any:
    """Wait until an action meets a condition."""
    end_s = time.monotonic() + DEADLINE_S
    while not is_so(view := fleet.read("action", "show", action, *words, token=token)):
        assert time.monotonic() < end_s, view
    return view


def is_done(view: Any) -> bool:
    return bool(view["due"]) and view["due"][0].get("job_state") == "done"


def test_action_for_now_is_watched_to_its_end(fleet: Fleet) -> None:
    (fleet.agents["web1"].root / "etc/motd").unlink(missing_ok=True)
    output = fleet.command("action", "create", "run", "web1", "web2", "--enforce", "--why", "a test")
    assert re.search(r"^web1 +COMPLETED +1 changed of \d+", output, re.MULTILINE)
    assert (fleet.agents["web1"].root / "etc/motd").read_text() == "Hello.\n"
    (action,) = fleet.read("action", "list", "--limit", "1")
    assert (action["kind"], action["state"], action["why"]) == ("run", "ended", "a test")
    shown = fleet.command("action", "show", action["id"])
    assert re.search(r"started +[0-9a-f-]{36} +done: 2 COMPLETED", shown)
    watched = fleet.read("action", "watch", action["id"])
    assert watched["run"]["action"] == action["id"]


def test_action_at_a_time_starts_without_anybody_who_watches(fleet: Fleet) -> None:
    action = fleet.read("action", "create", "facts", *NODES, "--at", "+2s", "--name", "new facts")
    assert (action["state"], action["name"], action["node_count"], action["due"]) == ("active", "new facts", 3, [])
    view = until(fleet, action["id"], is_done)
    assert view["due"][0]["counts"] == {"COMPLETED": 3}


def test_schedule_can_be_run_now_paused_resumed_and_cancelled(fleet: Fleet) -> None:
    action = fleet.read("action", "create", "run", "web*", "--noop", "--cron", "0 3 * * *", "--zone", "Europe/Berlin")
    assert (action["resolve"], action["node_count"]) == ("start", None)
    assert "0 3 * * * (Europe/Berlin)" in fleet.command("action", "list")
    fleet.command("action", "run-now", action["id"])
    view = until(fleet, action["id"], is_done)
    assert (view["due"][0]["cause"], view["due"][0]["counts"]) == ("person", {"COMPLETED": 3})
    assert fleet.read("action", "pause", action["id"])["next_at"] is None
    assert fleet.read("action", "resume", action["id"])["next_at"] == action["next_at"]
    assert fleet.read("action", "cancel", action["id"])["state"] == "cancelled"
    assert "[ACTION-002]" in fleet.command("action", "run-now", action["id"], code=73)
    entries = [row["action"] for row in fleet.site.run("audit", "--limit", "50") if row["target"] == action["id"]]
    assert sorted(entries) == ["action.cancel", "action.create", "action.pause", "action.resume", "action.run-now"]


def test_cancel_wins_over_a_node_that_is_down(fleet: Fleet) -> None:
    with fleet.down("web3"):
        waiting = ["--away", "wait", "--away-for", "1h", "--detach"]
        action = fleet.read("action", "create", "facts", "web1", "web3", *waiting)["id"]
        until(fleet, action, lambda view: view["due"] and view["due"][0].get("counts", {}).get("COMPLETED") == 1)
        assert fleet.read("action", "cancel", action)["state"] == "ended"
        view = until(fleet, action, lambda view: view["due"][0]["job_state"] == "stopped")
        assert view["due"][0]["counts"] == {"COMPLETED": 1, "CANCELLED": 1}
    fleet.agents["web3"].until_connected()
    assert fleet.read("action", "show", action)["due"][0]["counts"] == {"COMPLETED": 1, "CANCELLED": 1}


def test_action_waits_for_a_node_and_starts_when_it_returns(fleet: Fleet) -> None:
    with fleet.down("web3"):
        action = fleet.read("action", "create", "facts", "web3", "--away", "wait", "--detach")["id"]
        view = until(fleet, action, lambda view: bool(view["due"]))
        assert view["due"][0]["counts"] == {"QUEUED": 1}
    assert until(fleet, action, is_done)["due"][0]["counts"] == {"COMPLETED": 1}


def test_command_has_typed_parameters_and_a_role_of_its_own(fleet: Fleet, commander: str) -> None:
    words = ["--param", "text=a b; exit 3", "--param", "count:integer=2", "--", "printf", "%s|%d", "{text}", "{count}"]
    output = fleet.command("action", "create", "command", "web1", *words, token=commander)
    assert re.search(r"^web1 +\| a b; exit 3\|2$", output, re.MULTILINE)
    assert "[API-003]" in fleet.command("action", "create", "command", "web1", "--", "true", code=77)
    (action,) = fleet.read("action", "list", "--commands", "--limit", "1", token=commander)
    assert action["work"]["argv"] == ["printf", "%s|%d", "{text}", "{count}"]


def test_repeated_command_is_signed_by_its_standing_seal(fleet: Fleet, commander: str) -> None:
    refused = fleet.command(
        "action", "create", "command", "web1", "--cron", "@yearly", "--", "true", code=64, token=commander
    )
    assert "[ACTION-010]" in refused
    created = ["action", "create", "command", "web1", "web2", "--cron", "* * * * *", "--until", "+7d", "--resolve"]
    for resolve in ("now", "start"):
        action = fleet.read(*created, resolve, "--", "true", token=commander)["id"]
        fleet.command("action", "run-now", action, "--commands", token=commander)
        view = until(fleet, action, is_done, "--commands", token=commander)
        assert view["due"][0]["counts"] == {"COMPLETED": 2}
        fleet.command("action", "cancel", action, "--commands", token=commander)


def test_action_that_matches_nobody_at_its_start_fails(fleet: Fleet) -> None:
    output = fleet.command("action", "create", "facts", "role = 'db'", "--resolve", "start", code=4)
    assert "failed" in output
    assert "no node matches these targets" in output


def test_approval_by_a_second_person(fleet: Fleet) -> None:
    fleet.command("env", "approvals", "production", "1", "--for", "actions")
    assert "an action that changes nodes needs the approval of 1 other person" in fleet.command(
        "env", "show", "production"
    )
    action = fleet.read("action", "create", "restart", "web1")
    assert action["state"] == "awaiting-approval"
    assert "QUEUED, because other people must approve it" in fleet.command("action", "show", action["id"])
    other = str(fleet.site.run("token", "person", "zoe", "--role", "operator")["token"])
    assert fleet.read("approval", "approve", action["request"], token=other)["state"] == "granted"
    assert until(fleet, action["id"], is_done)["due"][0]["counts"] == {"COMPLETED": 1}
    fleet.command("env", "approvals", "production", "0", "--for", "actions")


def test_metrics_show_how_schedules_are_kept(fleet: Fleet) -> None:
    environment = fleet.site.environment
    context = https.trust_authority(Path(environment["PRECAST_CA"]).read_text())
    headers = {"Authorization": f"Bearer {environment['PRECAST_TOKEN']}"}
    text = https.call(fleet.site.url, context, "GET", "/metrics", b"", headers=headers).body.decode()
    assert "precast_schedule_missed 0" in text
    assert "precast_attempts_refused 0" in text
    assert "precast_schedule_lag_seconds 0" in text


@pytest.mark.parametrize(
    ("words", "code", "answer"),
    [
        (("action", "create", "plan", "web1"), 64, "[CLI-001]"),
        (("action", "create", "dance", "web1"), 64, "unknown"),
        (("action", "create", "facts"), 64, "[TARGET-005]"),
        (("action", "create", "facts", "web1", "--at", "soon"), 64, "'soon' is not a time"),
        (("action", "create", "facts", "web1", "--cron", "61 * * * *"), 64, "[CRON-001]"),
        (("action", "create", "facts", "web1", "--missed", "never"), 64, "--missed 'never' is unknown"),
        (("action", "create", "run", "web1", "--canary", "0"), 64, "--canary '0' is not valid"),
        (("action", "create", "command", "web1"), 64, "no command"),
        (("action", "create", "facts", "web1", "--tries", "3"), 64, "--tries has no effect without --away try"),
        (("action", "show", "nothing"), 66, "[ACTION-001]"),
        (("action", "show", ""), 64, "a name is empty"),
        (("action", "cancel", "nothing"), 66, "[ACTION-001]"),
    ],
)
def test_mistake_is_reported_in_one_line(fleet: Fleet, words: tuple[str, ...], code: int, answer: str) -> None:
    output = fleet.command(*words, code=code)
    assert answer in output
    assert len(output.strip().splitlines()) <= 2


def test_action_of_a_later_time_is_watched_for_as_long_as_wait_says(fleet: Fleet) -> None:
    output = fleet.command("action", "create", "facts", "web1", "--at", "+1h", "--wait", "1s", code=3)
    action = re.search(r"^ACTION +(\S+)$", output, re.MULTILINE)
    assert action is not None, output
    assert fleet.read("action", "cancel", action[1])["state"] == "cancelled"


def test_interrupted_watch_leaves_the_action_alone(fleet: Fleet) -> None:
    action = fleet.read("action", "create", "facts", "web1", "--at", "+1h")["id"]
    done = subprocess.run(
        [PRECAST, "action", "watch", action, "--wait", "1s"], env=fleet.site.environment, capture_output=True, text=True
    )
    assert done.returncode == 3, done
    assert fleet.read("action", "cancel", action)["state"] == "cancelled"
