"""`precast node` with a real server: targets, classification, deactivation, purge."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.precast_command import assert_fine, assert_refused
from tests.e2e.precast_server import Server, precast, running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Server.init(tmp_path_factory.mktemp("site") / "data")) as made:
        yield made


def root_of(server: Server, name: str) -> Path:
    return server.data / "nodes" / name


def enrol(server: Server, name: str, **extensions: str) -> None:
    marks = [word for mark, value in extensions.items() for word in ("--extension", f"{mark}={value}")]
    token = server.read("token", "enrol", name, *marks)["token"]
    assert_fine(server.enrol(root_of(server, name), name, token))


def facts(server: Server, name: str) -> int:
    return precast("agent", "facts", "--url", server.url, "--root", root_of(server, name)).code


def test_node_from_enrolment_to_purge(server: Server, tmp_path: Path) -> None:
    enrol(server, "web1.test", pp_role="web")
    enrol(server, "web2.test", pp_role="web")
    enrol(server, "db1.test", pp_role="db")

    ran = server.command("node", "list")
    assert_fine(ran)
    assert ran.out.splitlines()[0].split()[:4] == ["NODE", "STATE", "ENVIRONMENT", "ROLE"]
    names = [line.split()[0] for line in ran.out.splitlines()[1:]]
    assert names == ["db1.test", "web1.test", "web2.test"]
    assert [row["name"] for row in server.read("node", "list", "trusted.extensions.pp_role = 'web'")] == [
        "web1.test",
        "web2.test",
    ]
    (tmp_path / "names").write_text("# mine\nweb2.test\n\ndb*  # all\n")
    assert [row["name"] for row in server.read("node", "list", f"@{tmp_path}/names")] == ["db1.test", "web2.test"]

    ran = server.command("node", "set", "web*", "role", "web::front")
    assert (ran.code, ran.out) == (0, "web1.test: role is web::front\nweb2.test: role is web::front\n")
    assert server.command("node", "set", "web*", "role", "web::front").out == "nothing to do: nothing changes\n"
    assert_fine(server.command("node", "set", "web2.test", "role", "--clear"))
    # Without a classification, the role is the one of the certificate.
    assert [row["name"] for row in server.read("node", "list", "role = 'web::front'")] == ["web1.test"]
    assert [row["name"] for row in server.read("node", "list", "role = web")] == ["web2.test"]

    assert facts(server, "web1.test") == 0
    view = server.read("node", "show", "web1.test")
    assert view["node"]["role"] == "web::front"
    assert view["trusted"]["extensions"] == {"pp_role": "web"}
    assert len(view["certificates"]) == 1
    assert_fine(server.command("node", "show", "web1.test"))

    assert server.command("node", "deactivate", "web1.test", "--why", "sold").out == "web1.test: deactivated\n"
    assert facts(server, "web1.test") == 77
    renewal = precast("agent", "renew", "--url", server.url, "--root", root_of(server, "web1.test"))
    assert_refused(renewal, 77, "CA-007")
    assert [row["name"] for row in server.read("node", "list")] == ["db1.test", "web2.test"]
    (row,) = [row for row in server.read("node", "list", "--deactivated") if row["name"] == "web1.test"]
    assert row["state"] == "deactivated"
    assert_fine(server.command("node", "reactivate", "web1.test"))
    assert facts(server, "web1.test") == 0

    assert_refused(server.command("node", "purge", "web1.test"), 73, "NODE-003")
    assert_fine(server.command("node", "purge", "web1.test", "--force", "--why", "gone"))
    assert facts(server, "web1.test") == 77
    assert_refused(server.command("node", "show", "web1.test"), 66, "NODE-001")
    actions = [(row["action"], row["target"]) for row in server.read("audit") if row["target"] == "web1.test"]
    assert [action for action, _ in actions[:4]] == [
        *("node.purge", "node.deactivate", "node.reactivate", "node.deactivate"),
    ]

    # The name is free: the machine can be enrolled again.
    enrol_again = server.read("token", "enrol", "web1.test")["token"]
    assert_fine(server.enrol(tmp_path / "anew", "web1.test", enrol_again))


def test_enrolment_again_reactivates_a_deactivated_node(server: Server, tmp_path: Path) -> None:
    enrol(server, "old1.test")
    assert_fine(server.command("node", "deactivate", "old1.test"))
    assert_fine(server.command("ca", "clean", "old1.test"))
    token = server.read("token", "enrol", "old1.test")["token"]
    assert_fine(server.enrol(tmp_path / "anew", "old1.test", token))
    assert server.read("node", "show", "old1.test")["node"]["deactivated_at"] is None


def test_answer_that_depends_on_facts_says_so(server: Server) -> None:
    enrol(server, "fact1.test")
    assert facts(server, "fact1.test") == 0
    ran = server.command("node", "list", "fact1.test and not exists facts.unheard_of", "--json")
    assert ran.code == 0
    assert ran.err == "precast: note: this result depends on facts, which nodes report about themselves\n"
    assert [row["name"] for row in json.loads(ran.out)] == ["fact1.test"]


def test_facts_of_two_nodes_are_compared_path_by_path(server: Server, tmp_path: Path) -> None:
    for name in ("same1.test", "same2.test"):
        enrol(server, name)
        directory = root_of(server, name) / "etc/precast/facts.d"
        directory.mkdir(parents=True)
        (directory / "own.json").write_text(json.dumps({"own": {"name": name, "site": "here"}}))
        assert facts(server, name) == 0
    until_stored(server, "same1.test", "same2.test")
    ran = server.command("facts", "diff", "same1.test", "same2.test")
    assert (ran.code, ran.err) == (1, "")
    assert ["/own/name", "same1.test", "same2.test"] in [line.split() for line in ran.out.splitlines()]
    assert "/own/site" not in ran.out
    same = server.command("facts", "diff", "same1.test", "same1.test", "--json")
    assert (same.code, json.loads(same.out)["differences"]) == (0, [])
    assert server.command("facts", "diff", "same1.test", "--since", "1h").code == 0
    assert_refused(server.command("facts", "diff", "same1.test", "nobody.test"), 66, "FACTS-002")
    assert_refused(server.command("facts", "diff", "same1.test"), 64, "CLI-001")
    assert_refused(server.command("facts", "diff", "same1.test", "--since", "yesterday"), 64, "CLI-001")
    assert_refused(server.command("facts", "show", "../x?"), 66, "FACTS-002")


def until_stored(server: Server, *names: str) -> None:
    """Wait until a worker has stored the acknowledged facts; the test's timeout is the deadline."""
    while any(server.command("facts", "show", name).code == 66 for name in names):
        pass


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (["node", "list", "nobody.test"], 66, "NODE-001"),
        (["node", "list", "nobody*"], 66, "TARGET-007"),
        (["node", "deactivate"], 64, "TARGET-005"),
        (["node", "deactivate", ""], 64, "TARGET-005"),
        (["node", "purge", "web9*", "--all"], 64, "TARGET-006"),
        (["node", "show", "nobody"], 66, "NODE-001"),
        (["node", "show", "../x"], 66, "NODE-001"),
        (["node", "set", "*", "role"], 64, "CLI-001"),
        (["node", "set", "*", "role", "x", "--clear"], 64, "CLI-001"),
        (["node", "set", "*", "colour", "x"], 64, "CLI-001"),
        (["node", "set", "*", "role", "No Role"], 64, "NODE-002"),
        (["node", "list", "@/nowhere"], 66, "CLI-010"),
        (["node", "deactivate", "*", "--why", "x\ny"], 64, "AUTH-005"),
    ],
)
def test_wrong_target_is_one_clear_error(server: Server, words: list[str], exit_code: int, code: str) -> None:
    enrol_once(server)
    assert_refused(server.command(*words), exit_code, code)


def enrol_once(server: Server) -> None:
    if not root_of(server, "there.test").exists():
        enrol(server, "there.test")


def test_query_that_cannot_be_parsed_is_shown_with_a_caret(server: Server) -> None:
    ran = server.command("node", "list", "role == 'db'")
    assert (ran.code, ran.out) == (64, "")
    assert ran.err.splitlines() == [
        "target:1:6: error: == has no meaning here [TARGET-001]",
        "    1 | role == 'db'",
        "      |      ^~",
        "  hint: write =",
    ]


def test_classes_parameters_and_rules_classify_a_node(server: Server) -> None:
    enrol(server, "rule1.example.com")
    assert "classes are ntp web" in server.command("node", "set", "rule1.example.com", "classes", "ntp", "web").out
    assert_fine(server.command("node", "set", "rule1.example.com", "parameters", "tier=front", "dc=a"))
    assert_fine(server.command("node", "set", "rule1.example.com", "parameters", '{"ports": [80, 443]}'))
    assert_fine(
        server.command(
            *("node", "rules", "set", "10", "--name", "/^rule[0-9]/", "--environment", "test", "--role", "web"),
            *("--classes", '{"ntp": {"servers": ["a"]}, "base": {}}', "--parameters", "tier=back"),
        )
    )
    assert_fine(server.command("node", "refresh", "rule1.example.com"))
    view = server.read("node", "show", "rule1.example.com")
    assert (view["node"]["environment"], view["node"]["role"]) == ("test", "web")
    assert view["classes"] == {"ntp": {}, "web": {}, "base": {}}
    assert view["parameters"] == {"ports": [80, 443], "tier": "back"}
    assert [(source["source"], source["detail"]) for source in view["sources"]] == [
        ("operator", ""),
        ("rules", "rule 10"),
    ]
    shown = server.command("node", "show", "rule1.example.com").out
    assert "rules (rule 10)" in shown
    assert "/^rule[0-9]/" in server.command("node", "rules", "list").out
    assert_fine(server.command("node", "set", "rule1.example.com", "classes", "--clear"))
    assert server.command("node", "rules", "remove", "10").out.startswith("rule 10 is removed")
    for words, says in (
        (("node", "set", "rule1.example.com", "classes"), "give VALUE, or --clear"),
        (("node", "set", "rule1.example.com", "classes", "Not A Class"), "NODE-002"),
        (("node", "set", "rule1.example.com", "parameters", "x"), "is not KEY=VALUE"),
        (("node", "set", "rule1.example.com", "parameters", "{"), "this is not valid JSON"),
        (("node", "set", "rule1.example.com", "role", "a", "b"), "role takes a single value"),
        (("node", "rules", "set", "1", "--name", "x"), "it sets nothing"),
        (("node", "rules", "set", "1", "--name", "/(/", "--role", "x"), "is not a valid expression"),
        (("node", "rules", "set", "1", "--extension", "nonsense=1", "--role", "x"), "AUTH-004"),
        (("node", "rules", "remove", "77"), "there is no rule 77"),
        (("node", "refresh", "nobody.example.com"), "NODE-001"),
    ):
        ran = server.command(*words)
        assert (ran.code in (64, 66), says in ran.err, ran.out) == (True, True, ""), ran
