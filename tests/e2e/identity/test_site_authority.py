"""An authority and a database belong to one site: no command and no server puts one beside another site's."""

import shutil
from pathlib import Path

import pytest

from lab.postgres import PostgresServer
from tests.e2e.precast_command import assert_refused
from tests.e2e.precast_server import Server, precast, running


@pytest.fixture(params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Server:
    """A site that has a node."""
    database = str(tmp_path / "elsewhere.db")
    if request.param == "postgresql":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        database = postgres.url(postgres.create_database())
    server = Server.init(tmp_path / "data", database)
    with running(server):
        token = server.read("token", "enrol", "web1")["token"]
        assert server.enrol(tmp_path / "web1", "web1", token).code == 0
    return server


def test_init_beside_the_database_of_a_site_is_refused_and_creates_no_authority(site: Server, tmp_path: Path) -> None:
    other = tmp_path / "other"
    ran = precast("server", "init", "--data", other, "--database", site.database)
    assert_refused(ran, 73, "CA-042")
    assert not (other / "authority").exists()
    with running(site):
        assert [node["name"] for node in site.read("node", "list")] == ["web1"]


def test_init_with_new_authority_gives_up_the_lost_one(site: Server, tmp_path: Path) -> None:
    shutil.rmtree(site.data / "authority")
    shutil.rmtree(site.data / "signer")
    assert_refused(precast("server", "init", "--data", site.data, "--database", site.database), 73, "CA-042")
    words = ("server", "init", "--new-authority", "--json", "--data", site.data, "--database", site.database)
    assert precast(*words).code == 0
    replaced = Server(site.data, precast_admin(site), site.database)
    with running(replaced):
        token = replaced.read("token", "enrol", "web2")["token"]
        assert replaced.enrol(tmp_path / "web2", "web2", token).code == 0


def test_server_with_the_database_of_another_authority_does_not_start(site: Server, tmp_path: Path) -> None:
    other = Server.init(tmp_path / "other")
    ran = precast("server", "--data", other.data, "--database", site.database, "--listen", "127.0.0.1:0")
    assert_refused(ran, 73, "CA-043")
    with running(site):
        assert [node["name"] for node in site.read("node", "list")] == ["web1"]


def test_server_starts_with_the_successor_of_the_authority_and_after_it_is_the_only_one(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    with running(server):
        assert server.command("ca", "rotate").code == 0
        assert server.command("ca", "rotate", "--finish").code == 0
        server.stop()
        server.start()
        assert server.command("node", "list").code == 0


def precast_admin(site: Server) -> str:
    ran = precast("server", "admin", "--data", site.data, "--database", site.database)
    assert ran.code == 0, ran
    return ran.out.strip()
