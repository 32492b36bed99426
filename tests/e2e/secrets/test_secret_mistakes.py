"""What a person gets for a typing error in `precast secrets` and `precast exports`: one line and a next step, and nothing is set."""

from collections.abc import Iterator

import pytest

from tests.e2e.precast_command import assert_refused
from tests.e2e.precast_server import Server, running

TOKEN_OF_ANOTHER = ("token", "person", "bob", "--role", "viewer", "--environment", "staging")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp("mistakes")
    (directory / "code/manifests").mkdir(parents=True)
    (directory / "code/manifests/site.pp").write_text("notify { 'x': }\n")
    with running(Server.init(directory / "data")) as started:
        started.read("env", "deploy", "production", "--from", str(directory / "code"))
        yield started


@pytest.mark.parametrize(
    "words",
    [
        ("secrets", "list", "producton"),
        ("secrets", "show", "producton", "0123abcd"),
        ("secrets", "policy", "producton"),
        ("secrets", "policy", "producton", "refuse"),
        ("exports", "list", "--environment", "producton"),
        ("exports", "list", "File", "--environment", "producton"),
        ("exports", "show", "File[x]", "--environment", "producton"),
    ],
)
def test_environment_that_does_not_exist_is_an_error(server: Server, words: tuple[str, ...]) -> None:
    assert_refused(server.command(*words), 66, "ENV-005", "there is no environment producton")


def test_policy_of_an_environment_that_does_not_exist_is_not_set(server: Server) -> None:
    server.command("secrets", "policy", "later", "refuse")
    assert "secret.policy" not in [entry["action"] for entry in server.read("audit")]


def test_resource_that_nobody_exports_is_not_found(server: Server) -> None:
    assert_refused(server.command("exports", "show", "File[/etc/x]"), 66, "CLI-058", "no node exports File[/etc/x]")


def test_environment_of_others_looks_like_one_that_does_not_exist(server: Server) -> None:
    token = server.read(*TOKEN_OF_ANOTHER)["token"]
    answers = [
        server.ask("GET", f"/v1/exports{type_}?environment={environment}", token)
        for type_ in ("", "/File")
        for environment in ("production", "producton")
    ]
    assert {(answer.status, answer.body["code"]) for answer in answers} == {(404, "ENV-005")}
    assert len({answer.body["detail"].replace("producton", "production") for answer in answers}) == 1
