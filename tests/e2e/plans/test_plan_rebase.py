"""A run that is rebased on corrected code: what was done with the old code is done again, and needs another approval."""

from collections.abc import Iterator

import pytest

from tests.e2e.plans.plan_fleet import FILES, PlanFleet

pytestmark = pytest.mark.timeout(300)
ENTRY = "modules/profile/examples/issue.pp"
TEXT = f"""
- id: issue
  type: manifest
  roles: [web]
  approval: Is it reviewed?
  parameters: {{manifest: {ENTRY}}}
- {{id: other, type: shell, roles: [web], requires: [issue], parameters: {{cmd: 'true'}}}}
- {{id: last, type: shell, roles: [web], requires: [other], parameters: {{cmd: 'false'}}}}
"""


@pytest.fixture
def original(plans: PlanFleet) -> Iterator[str]:
    yield FILES[ENTRY]
    plans.deploy(ENTRY, FILES[ENTRY])


def test_rebase_on_other_code_repeats_what_applied_the_old_and_asks_again(plans: PlanFleet, original: str) -> None:
    run = plans.begin(TEXT, nodes="web1")
    plans.command("plan", "approve", run, "issue")
    plans.until_ended(run, code=4)
    issue = plans.root("web1") / "etc/issue"
    assert issue.read_text() == "on Debian\n"
    same = plans.command("plan", "resume", run, "--rebase", plans.write(TEXT), "--preview")
    assert same == "the rebase changes no task\n"

    plans.deploy(ENTRY, original.replace("on ${", "now on ${"))
    corrected = plans.write(TEXT.replace("'false'", "'true'"))
    preview = plans.command("plan", "resume", run, "--rebase", corrected, "--preview").splitlines()
    assert preview[-2:] == [
        "    changed issue on web1: another version of its catalog",
        "    changed last on web1",
    ]
    plans.command("plan", "resume", run, "--rebase", corrected, "--detach")
    assert plans.fleet.until_true(lambda: "issue: Is it reviewed? (waits" in plans.command("plan", "status", run))
    assert issue.read_text() == "on Debian\n"
    plans.command("plan", "approve", run, "issue")
    assert plans.until_ended(run)["counts"] == {"successful": 3}
    assert issue.read_text() == "now on Debian\n"
    attempts = {title: instance.get("attempt", 1) for title, instance in plans.instances(run).items()}
    assert attempts == {"issue on web1": 2, "other on web1": 1, "last on web1": 2}
