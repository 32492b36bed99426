"""Trust: a signer that mints for nobody, an audit log that cannot be rewritten, and a release that needs a second person."""

import contextlib
import sqlite3
from collections.abc import Iterator

from demo.presenter import Presenter


def show(presenter: Presenter, node: str) -> None:
    presenter.title("Trust: who can do what, even if a part of the server is taken over")
    confine(presenter)
    protect_audit_log(presenter)
    approve_release(presenter, node)


def confine(presenter: Presenter) -> None:
    """Show how processes that handle untrusted code are confined, and what the signer has signed."""
    checked = presenter.ask("server", "check", "--data", "site")
    for process in checked["processes"]:
        enforced = [measure["name"] for measure in process["measures"] if measure["is_enforced"]]
        presenter.say(f"{process['name']:16} confined: {', '.join(enforced)}")
    (worker,) = [process for process in checked["processes"] if process["name"] == "compile worker"]
    presenter.claim(
        "a process that compiles code has no files, no network, no rights, and few system calls (`precast server check`)",
        all(measure["is_enforced"] for measure in worker["measures"]),
    )
    log = presenter.run("signer", "verify-log", "--data", "site")
    presenter.claim("the signer, a process of its own, has the keys and a log that only it can write", bool(log))


def protect_audit_log(presenter: Presenter) -> None:
    """Try to change an entry of the audit log in the database itself."""
    presenter.run("audit", "verify")
    with contextlib.closing(sqlite3.connect(presenter.directory / "site" / "precast.db", timeout=10)) as database:
        refusal = ""
        try:
            database.execute("UPDATE audit SET actor = 'nobody'")
        except sqlite3.DatabaseError as error:
            refusal = str(error)
    presenter.claim(f"the database itself refuses to change an entry: {refusal}", bool(refusal))


def approve_release(presenter: Presenter, node: str) -> None:
    """Release with the approval of a second person."""
    presenter.run("env", "approvals", "production", "1")
    presenter.run("release", node, "--why", "the same again", expected=5)
    (request,) = presenter.ask("approval", "list")
    error = presenter.refused("approval", "approve", request["id"])
    presenter.claim("the person who asked for it cannot approve it", bool(error))
    token = presenter.ask("token", "person", "bob", "--role", "operator")["token"]
    with as_person(presenter, token):
        presenter.run("approval", "approve", request["id"], "--why", "I have read the preview")
    presenter.claim("Bob has approved, and the release has happened", not presenter.ask("approval", "list"))
    presenter.run("env", "approvals", "production", "0")


@contextlib.contextmanager
def as_person(presenter: Presenter, token: str) -> Iterator[None]:
    before = presenter.environment
    presenter.environment = {**before, "PRECAST_TOKEN": token}
    yield
    presenter.environment = before
