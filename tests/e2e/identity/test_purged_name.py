"""The name of a purged node goes to the next machine that enrols; the former one has lost it, although its certificate has not expired."""

from pathlib import Path

from tests.e2e.precast_command import assert_fine, assert_refused
from tests.e2e.precast_server import Server, precast, running


def test_purged_name_goes_to_the_next_machine_and_not_back(tmp_path: Path) -> None:
    with running(Server.init(tmp_path / "data")) as server:
        token = server.read("token", "enrol", "web1", "--uses", "5")["token"]
        old, new = tmp_path / "old", tmp_path / "new"
        state = "var/lib/precast/agent"
        assert_fine(server.enrol(old, "web1", token))
        assert server.ask("GET", "/v1/policy", node=old / state).status == 404  # known, and without a policy
        assert_refused(server.enrol(new, "web1", token), 73, "CA-005")
        assert_fine(server.command("node", "purge", "web1", "--force"))
        assert server.ask("GET", "/v1/policy", node=old / state).status == 401
        renew = ("agent", "renew", "--url", server.url, "--root")
        assert_refused(precast(*renew, old), 77, "CA-007")
        assert_fine(server.enrol(new, "web1", token))
        assert server.ask("GET", "/v1/policy", node=new / state).status == 404
        assert server.ask("GET", "/v1/policy", node=old / state).status == 401
        assert_refused(precast(*renew, old), 77, "CA-007")
        rows = [row for row in server.read("ca", "list") if row["node"] == "web1" and row["revoked_at"] is None]
        assert len(rows) == 1
