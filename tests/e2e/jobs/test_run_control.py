"""Jobs that are stopped, aborted, resumed and retried, and what becomes of a node's work meanwhile, with real daemons."""

import json
import os
import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lab.processes import is_alive
from tests.e2e.jobs.run_fleet import DEADLINE_S, Fleet, running_fleet, state_of, steps_of

pytestmark = pytest.mark.timeout(300)

# Many files on web1, so that its run takes long enough to be killed in the middle.
FILES = 3000
PROFILE = f"""class profile {{
  if $trusted['certname'] == 'web1' {{
    Integer[0, {FILES - 1}].each |$number| {{
      file {{ "/srv/f${{number}}": content => 'x' }}
    }}
  }}
}}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("control"), PROFILE) as created:
        yield created


@pytest.fixture(scope="module")
def commander(fleet: Fleet) -> str:
    return fleet.token("cyd")


def until_written(path: Path, lines: int = 1) -> list[str]:
    """Wait until a file has so many lines."""
    end_s = time.monotonic() + DEADLINE_S
    while not path.exists() or len(path.read_text().splitlines()) < lines:
        assert time.monotonic() < end_s
    return path.read_text().splitlines()


def working_process(root: Path) -> int:
    """The pid of the process that works under the node's lease."""
    with closing(sqlite3.connect(root / "var/lib/precast/agent/state.db", timeout=30)) as store:
        ((note,),) = store.execute("SELECT value FROM note WHERE name = 'RunProcess'").fetchall()
    return int(json.loads(note)["pid"])


def test_aborted_command_is_ended_on_its_node(fleet: Fleet, commander: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    words = ("sh", "-c", f"echo $$ >> {pids}; sleep 600")
    run = fleet.read("exec", "web1", "--deadline", "20m", "--detach", "--", *words, token=commander)["id"]
    (shell,) = until_written(pids)
    shown = fleet.command("exec", "abort", run, token=commander)
    assert re.fullmatch(rf"{run} is aborting: 1 PICKED_UP\n", shown)
    output = fleet.command("exec", "watch", run, token=commander, code=5)
    assert re.search(r"^web1 +FAILED\(aborted\) +the command was aborted", output, re.MULTILINE)
    assert "aborted: 1 FAILED(aborted), in" in output
    assert not is_alive(int(shell))
    # It had begun: only a retry begins it again.
    assert "[RUN-008]" in fleet.command("exec", "resume", run, code=73, token=commander)


def test_stopped_job_is_resumed_on_the_nodes_that_have_not_begun(fleet: Fleet, commander: str, tmp_path: Path) -> None:
    gate, marks = tmp_path / "gate", tmp_path / "marks"
    script = f"basename $PWD >> {marks}; while [ ! -e {gate} ]; do sleep 0.05; done"
    words = ("exec", "web1", "web2", "--at-once", "1", "--detach", "--", "sh", "-c", script)
    run = fleet.read(*words, token=commander)["id"]
    until_written(marks)
    assert steps_of(fleet.read("run", "show", run))["web2"]["reason"] == "turn"
    assert "[RUN-007]" in fleet.command("exec", "resume", run, code=73, token=commander)
    assert fleet.read("exec", "stop", run, token=commander)["state"] == "stopping"
    gate.touch()
    answer = fleet.until_ended(run)
    states = {node: state_of(step) for node, step in steps_of(answer).items()}
    assert (answer["run"]["state"], states) == ("stopped", {"web1": "COMPLETED", "web2": "CANCELLED"})
    answer = fleet.read("exec", "resume", run, token=commander)
    assert (answer["run"]["state"], answer["run"]["round"]) == ("done", 2)
    assert {node: step["attempt"] for node, step in steps_of(answer).items()} == {"web2": 2}
    assert answer["run"]["counts"] == {"COMPLETED": 2}
    assert marks.read_text() == "web1\nweb2\n"


def test_retry_repeats_only_the_nodes_that_failed(fleet: Fleet, commander: str, tmp_path: Path) -> None:
    marks, repaired = tmp_path / "marks", tmp_path / "repaired"
    script = f"node=$(basename $PWD); echo $node >> {marks}; echo hello; [ $node = web1 ] || [ -e {repaired} ]"
    answer = fleet.read("exec", "web1", "web2", "--", "sh", "-c", script, code=4, token=commander)
    run = answer["run"]["id"]
    assert {node: step["state"] for node, step in steps_of(answer).items()} == {"web1": "COMPLETED", "web2": "FAILED"}
    repaired.touch()
    output = fleet.command("exec", "retry", run, token=commander)
    assert re.search(r"^web2 +\| hello$", output, re.MULTILINE)
    assert re.search(r"^web2 +COMPLETED +.*attempt 2$", output, re.MULTILINE)
    assert not re.search(r"^web1", output, re.MULTILINE), "its result is from the first round"
    assert "done: 2 COMPLETED, in" in output
    assert sorted(marks.read_text().split()) == ["web1", "web2", "web2"]
    assert "[RUN-008]" in fleet.command("exec", "retry", run, code=73, token=commander)


def test_job_that_is_cancelled_while_its_node_is_down_never_begins(
    fleet: Fleet, commander: str, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    with fleet.down("web2"):
        words = ("exec", "web2", "--wait-away", "10m", "--detach", "--")
        cancelled = fleet.read(*words, "touch", str(mark), token=commander)["id"]
        after = fleet.read(*words, "true", token=commander)["id"]
        fleet.command("exec", "stop", cancelled, token=commander)
        assert fleet.until_ended(cancelled)["run"]["counts"] == {"CANCELLED": 1}
    assert fleet.until_ended(after)["run"]["counts"] == {"COMPLETED": 1}
    assert not mark.exists()


def test_two_jobs_never_change_a_node_at_once(fleet: Fleet, commander: str, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    runs = []
    for number in range(4):
        script = f"echo {number} >> {lines}; sleep 0.2; echo {number} >> {lines}"
        words = ("exec", "web1", "web2", "--detach", "--", "sh", "-c")
        runs.append(fleet.read(*words, script.replace(str(lines), f"{lines}-$(basename $PWD)"), token=commander)["id"])
    for run in runs:
        assert fleet.until_ended(run)["run"]["counts"] == {"COMPLETED": 2}
    for node in ("web1", "web2"):
        written = Path(f"{lines}-{node}").read_text().split()
        assert len(written) == 8
        assert written[::2] == written[1::2], written


def test_run_whose_process_was_killed_is_repeated_and_completed(fleet: Fleet) -> None:
    root = fleet.agents["web1"].root
    (root / "srv").mkdir(exist_ok=True)
    run = fleet.read("run", "web1", "--detach")["id"]
    end_s = time.monotonic() + DEADLINE_S
    while not (root / "srv/f0").exists():
        assert time.monotonic() < end_s
    os.kill(working_process(root), signal.SIGKILL)
    assert not (root / f"srv/f{FILES - 1}").exists(), "it was killed in the middle"
    answer = fleet.until_ended(run)
    step = steps_of(answer)["web1"]
    assert (state_of(step), step.get("attempt", 1)) == ("COMPLETED", 1), step
    assert (root / f"srv/f{FILES - 1}").exists()
    assert {report["state"] for report in fleet.read("report", "list", "--order", run)} == {"ended", "broken-off"}


def test_aborted_run_stops_and_is_not_repeated(fleet: Fleet) -> None:
    root = fleet.agents["web1"].root
    for path in (root / "srv").iterdir():
        path.unlink()
    run = fleet.read("run", "web1", "--detach")["id"]
    end_s = time.monotonic() + DEADLINE_S
    while not (root / "srv/f0").exists():
        assert time.monotonic() < end_s
    fleet.command("run", "abort", run)
    answer = fleet.until_ended(run)
    assert state_of(steps_of(answer)["web1"]) == "FAILED(aborted)"
    assert not (root / f"srv/f{FILES - 1}").exists()
    assert answer["run"]["stopped_by"] == "person:admin"


def test_canary_that_fails_halts_the_job(fleet: Fleet, commander: str) -> None:
    script = "[ $(basename $PWD) = web2 ]"
    answer = fleet.read("exec", "web1", "web2", "--canary", "1", "--", "sh", "-c", script, code=4, token=commander)
    states = {node: state_of(step) for node, step in steps_of(answer).items()}
    assert (answer["run"]["state"], states) == ("halted", {"web1": "FAILED(failed)", "web2": "SKIPPED(halted)"})
    assert fleet.read("exec", "resume", answer["run"]["id"], code=4, token=commander)["run"]["state"] == "done"
    assert fleet.steps(answer["run"]["id"])["web2"]["state"] == "COMPLETED"
