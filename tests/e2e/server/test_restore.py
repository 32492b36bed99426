"""A site is lost and restored as the how-to says, with the commands of its text; the agents come back by themselves."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.agent_process import AgentProcess
from lab.postgres import PostgresServer
from lab.server_process import PRECAST
from lab.site import Site
from precast.agent.identity.enrolment import Identity

pytestmark = pytest.mark.timeout(400)

PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "back-up-and-restore.md"
BLOCK = re.compile(r"^```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
DEADLINE_S = 180.0
MOTD = "Hello to ${trusted['certname']}.\\n"


def commands_of(section: str) -> list[str]:
    """The commands in the console blocks below a heading of the page."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [line[2:] for block in BLOCK.finditer(text) for line in block["text"].splitlines() if line.startswith("# ")]


class LostSite:
    """A site with one node, whose daemon runs all the time, and a shell for the commands of the page."""

    def __init__(self, directory: Path, database: str | None) -> None:
        self.directory, self.database = directory, database
        self.site = Site(directory / "server", database)
        self.root = directory / "web1"
        self.agent = AgentProcess(self.root, self.site.url)
        (directory / "code/manifests").mkdir(parents=True)
        (directory / "code/manifests/site.pp").write_text(f"file {{ '/etc/motd': content => \"{MOTD}\" }}\n")

    def set_up(self) -> None:
        """Enrol the node, start its daemon, and release a catalog for it."""
        (self.root / "etc").mkdir(parents=True)
        (self.root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\n')
        token = self.site.run("token", "enrol", "web1")["token"]
        Identity(self.root).enrol(self.site.url, token, "web1")
        self.agent.start()
        self.agent.until_settled()
        self.site.run("node", "policy", "set", "web1", "--enforce", "triggered")
        self.agent.until(lambda status: status.get("policy", {}).get("enforce") == "triggered")
        self.site.run("env", "deploy", "production", "--from", str(self.directory / "code"))
        self.site.run("release", "web1", "--wait")

    def follow(self, section: str) -> None:
        """Run the commands of a section of the page as its reader would."""
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PRECAST_")},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PRECAST_DATA": str(self.site.directory),
            **({"PRECAST_DATABASE": self.database} if self.database else {}),
        }
        commands = commands_of(section)
        assert commands, section
        for command in commands:
            if command == "systemctl stop precast-server":
                self.site.close()
            elif command == "systemctl start precast-server":
                self.site.start()
            else:
                done = subprocess.run(
                    ["bash", "-c", command],
                    cwd=self.directory,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=120,
                )
                assert (done.returncode, done.stderr) == (0, ""), (command, done)

    def wait_until_connected(self) -> None:
        """The restored database still has the session of before the loss: only the agent knows that it is connected again."""
        deadline = time.monotonic() + DEADLINE_S
        while not self.agent.status()["connected"] or self.site.session_of("web1")["server"] is None:
            assert time.monotonic() < deadline, self.agent.log[-2000:]
            time.sleep(0.2)


@pytest.fixture(params=["sqlite", "postgresql"])
def lost(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LostSite]:
    database = None
    if request.param == "postgresql":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        database = postgres.url(postgres.create_database())
    lost = LostSite(tmp_path, database)
    with lost.site:
        try:
            lost.set_up()
            yield lost
        finally:
            if lost.agent.process is not None:
                lost.agent.kill()


def test_site_restored_by_the_how_to_has_its_agents_back(lost: LostSite, request: pytest.FixtureRequest) -> None:
    lost.follow("Create a key for backups")
    lost.follow("Take a backup")
    lost.site.kill()
    shutil.rmtree(lost.site.directory)
    if lost.database is not None:
        postgres: PostgresServer = request.getfixturevalue("postgres")
        postgres.drop_database(lost.database.rpartition("/")[2].partition("?")[0])
        lost.database = postgres.url(postgres.create_database())
        lost.site.database_words = ["--database", lost.database]
    lost.follow("Restore it")
    lost.wait_until_connected()
    (lost.root / "etc/motd").unlink(missing_ok=True)
    done = subprocess.run(
        [PRECAST, "run", "web1"], env=lost.site.environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, (done, lost.agent.log[-2000:])
    assert (lost.root / "etc/motd").read_text() == "Hello to web1.\n"
    # A new node can be enrolled too: the signer has its keys and its state.
    token = lost.site.run("token", "enrol", "web2")["token"]
    Identity(lost.directory / "web2").enrol(lost.site.url, token, "web2")
    lost.follow("Test the restore")
    assert (lost.site.directory / "authority").stat().st_mode & 0o777 == 0o700
    assert (lost.site.directory / "authority/key.pem").stat().st_mode & 0o777 == 0o600
