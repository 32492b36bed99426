"""An enrolment token comes from a file or from standard input, so that it is on no command line and in no environment."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.precast_command import DEADLINE_S, PRECAST, CommandResult, assert_fine, assert_refused, environment
from tests.e2e.precast_server import Server, precast, running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Server.init(tmp_path_factory.mktemp("tokens") / "data")) as server:
        yield server


def enrol(
    server: Server, root: Path, name: str, *words: str | Path, given: str = "", **variables: str
) -> CommandResult:
    command = [PRECAST, "agent", "enrol", "--url", server.url, "--root", root, "--name", name, *words]
    done = subprocess.run(
        [*map(str, command)],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        env=environment(variables),
        timeout=DEADLINE_S,
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def test_token_is_read_from_a_file_that_only_its_owner_can_read(server: Server, tmp_path: Path) -> None:
    token = server.read("token", "enrol", "web*", "--uses", "5")["token"]
    file = tmp_path / "token"
    file.write_text(f"{token}\n")
    for mode in (0o644, 0o640, 0o604, 0o620):
        file.chmod(mode)
        refused = enrol(server, tmp_path / "a", "web1", "--token-file", file)
        assert_refused(refused, 77, "CLI-014", "other users can read")
        assert token not in refused.err
    file.chmod(0o600)
    # The file counts, whatever the environment has.
    assert_fine(enrol(server, tmp_path / "a", "web1", "--token-file", file, PRECAST_ENROL_TOKEN="pce1.wrong"))
    assert_refused(enrol(server, tmp_path / "b", "web2", "--token-file", tmp_path / "no"), 66, "CLI-010")
    both = precast("agent", "enrol", "--token-file", file, "--token", token)
    assert both.code == 64
    file.write_bytes(b"\xff\xfe")
    assert_refused(enrol(server, tmp_path / "b", "web2", "--token-file", file), 64, "CLI-011")


def test_token_is_read_from_standard_input_or_a_pipe(server: Server, tmp_path: Path) -> None:
    token = server.read("token", "enrol", "db*", "--uses", "5")["token"]
    assert_fine(enrol(server, tmp_path / "a", "db1", "--token-file", "-", given=f"  {token}\n"))
    for text in ("nothing", ""):
        assert_refused(enrol(server, tmp_path / "b", "db2", "--token-file", "-", given=text), 64, "WIRE-002")
    assert_refused(enrol(server, tmp_path / "b", "db2", "--token-file", "-", given="x" * 100_000), 64, "CLI-012")
    # As from a shell's <(command).
    script = f'exec "$0" agent enrol --url {server.url} --root {tmp_path}/c --name db3 --token-file <(cat {tmp_path}/t)'
    (tmp_path / "t").write_text(token)
    done = subprocess.run(["bash", "-c", script, PRECAST], check=False, capture_output=True, env=environment({}))
    assert done.returncode == 0, done
