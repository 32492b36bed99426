"""What a person reads of a run of a plan, and the exit code of the command that follows it."""

from datetime import UTC, datetime

import pytest

from precast.cli.plans.run_progress import RunProgress, describe_failure
from precast.cli.plans.run_watch import exit_code
from precast.wire.jobs.views import JobLimits, JobView
from precast.wire.plans.bodies import FailureView, PlanRunView

AT = datetime(2026, 1, 1, tzinfo=UTC)


def failure(reason: str, followers: int = 0) -> FailureView:
    return FailureView("deploy", "web1", reason, "a text", None, followers)


def run(state: str, counts: dict[str, int], *failures: FailureView) -> PlanRunView:
    ended_at = None if state.endswith("ing") else AT
    job = JobView("r1", "plan", state, None, None, "ann", AT, ended_at, None, 1, 1, {}, {}, JobLimits())
    return PlanRunView(job, "shop", "d", ["web1"], counts, failures=list(failures))


@pytest.mark.parametrize(
    ("view", "code"),
    [
        (run("going", {"failed": 1}, failure("failed")), 3),
        (run("done", {"successful": 2, "skipped": 1}), 0),
        (run("done", {"successful": 1, "failed": 1}, failure("post-test")), 4),
        (run("halted", {"failed": 1, "dep_failed": 1}, failure("failed")), 4),
        (run("stopped", {"successful": 1, "cancelled": 1}), 5),
        (run("stopped", {"failed": 1, "cancelled": 1}, failure("failed")), 4),
        (run("aborted", {"failed": 2, "cancelled": 1}, failure("aborted"), failure("aborted")), 5),
        (run("aborted", {"failed": 2}, failure("aborted"), failure("failed")), 4),
    ],
)
def test_watched_run_ends_with_the_code_of_its_outcome(view: PlanRunView, code: int) -> None:
    assert exit_code(view) == code


@pytest.mark.parametrize(
    ("reason", "followers", "text"),
    [
        ("failed", 0, "deploy on web1: it failed: a text"),
        ("EXPIRED", 1, "deploy on web1: it failed: a text; 1 other task cannot begin because of it"),
        ("lost", 2, "deploy on web1: it is lost: a text; 2 other tasks cannot begin because of it"),
        ("pre-test", 0, "deploy on web1: its test before the task failed: a text"),
    ],
)
def test_failure_says_what_it_was_and_what_follows(reason: str, followers: int, text: str) -> None:
    assert describe_failure(failure(reason, followers)) == text


def test_run_that_had_ended_before_it_was_watched_has_no_duration(capsys: pytest.CaptureFixture[str]) -> None:
    ended = run("done", {"successful": 1})
    progress = RunProgress(is_json=False)
    progress.show_start(ended)
    progress.show_end(ended)
    assert capsys.readouterr().out == "run r1 of shop: 1 task on 1 node\ndone: 1 successful\n"
