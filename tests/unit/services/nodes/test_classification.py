"""What follows from what all say, which rule fits, and what an external classifier's answer means."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from precast.base.errors import PrecastError
from precast.services.nodes import enc
from precast.services.nodes.classification import check, combine, first_match
from precast.services.nodes.enc import Unanswered, ask, read_answer
from precast.services.nodes.rules import check_rule
from precast.store.nodes.classification import Rule, Said, Saying

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def said(source: str, saying: Saying) -> Said:
    return Said(source, "", saying, NOW)


def test_operator_counts_before_rules_and_rules_before_the_external_classifier() -> None:
    all_say = [
        said("enc", Saying("from_enc", "enc", {"a": {"x": 1}, "c": {}}, {"p": 1, "r": 1})),
        said("operator", Saying(None, "operator", {"a": {}}, {"p": 3})),
        said("rules", Saying("from_rules", "rules", {"a": {"x": 2}, "b": {"y": 2}}, {"p": 2, "q": 2})),
    ]
    assert combine(all_say) == Saying(
        "from_rules", "operator", {"a": {}, "b": {"y": 2}, "c": {}}, {"p": 3, "q": 2, "r": 1}
    )
    assert combine([]) == Saying()


def rule(number: int, name: str | None = None, **extensions: str) -> Rule:
    return Rule(number, name, extensions, Saying(role=f"r{number}"))


@pytest.mark.parametrize(
    ("name", "extensions", "number"),
    [
        ("web1", {"pp_role": "web"}, 1),
        ("web1", {}, 2),
        ("db12", {}, 3),
        ("xdb12", {}, 5),
        ("mail", {"pp_role": "front-mail"}, 4),
        ("other", {"pp_role": "mail"}, 5),
    ],
)
def test_first_rule_that_fits_wins(name: str, extensions: dict[str, str], number: int) -> None:
    rules = [
        rule(1, "web*", pp_role="web"),
        rule(2, "web*"),
        rule(3, "/^db[0-9]+$/"),
        rule(4, None, pp_role="*-mail"),
        rule(5),
    ]
    found = first_match(rules, name, extensions)
    assert found is not None
    assert found.number == number


def test_no_rule_may_fit() -> None:
    assert first_match([rule(1, "web*")], "db1", {}) is None


@pytest.mark.parametrize(
    "saying",
    [
        Saying(environment="Production"),
        Saying(role="web server"),
        Saying(classes={"Nginx": {}}),
        Saying(classes={"nginx": {"Bad Name": 1}}),
        Saying(parameters={"1x": 1}),
        Saying(parameters={"x": "y" * 70_000}),
    ],
)
def test_what_cannot_be_said_of_a_node_is_refused(saying: Saying) -> None:
    with pytest.raises(PrecastError) as caught:
        check(saying)
    assert caught.value.code in ("NODE-002", "NODE-005")


@pytest.mark.parametrize(
    "wrong",
    [
        Rule(0, None, {}, Saying(role="x")),
        Rule(1, None, {}, Saying()),
        Rule(1, "/(/", {}, Saying(role="x")),
        Rule(1, "", {}, Saying(role="x")),
        Rule(1, "x" * 300, {}, Saying(role="x")),
    ],
)
def test_what_is_no_rule_is_refused(wrong: Rule) -> None:
    with pytest.raises(PrecastError) as caught:
        check_rule(wrong)
    assert caught.value.code == "NODE-006"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", Saying()),
        ("--- {}\n", Saying()),
        ("classes: [ntp, '::web::front']\n", Saying(classes={"ntp": {}, "web::front": {}})),
        ("classes: ntp\n", Saying(classes={"ntp": {}})),
        (
            "---\nclasses:\n  ntp:\n    servers: [a, b]\n  web:\nparameters:\n  tier: 1\n  since: 2026-11-16\nenvironment: test\n",
            Saying("test", None, {"ntp": {"servers": ["a", "b"]}, "web": {}}, {"tier": 1, "since": "2026-11-16"}),
        ),
        ("classes: {}\nparameters:\nenvironment:\nname: ignored\n", Saying()),
    ],
)
def test_answer_of_an_external_classifier_is_read_as_puppet_reads_it(answer: str, expected: Saying) -> None:
    assert read_answer(answer.encode()) == expected


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"- ntp\n", "no hash"),
        (b"classes: 5\n", "neither a list nor a hash"),
        (b"environment: [a]\n", "not what it should be"),
        (b"environment: Not Good\n", "Not Good"),
        (b"classes: {ntp: 5}\n", "not what it should be"),
        (b"a: !ruby/object:Gem {}\n", "no plain YAML"),
        (b"a: [\n", "no plain YAML"),
        (b"\xff", "no plain YAML"),
        (b"a: &a [x]\nb: [" + b"*a, " * 40 + b"]\n", "aliases"),
    ],
)
def test_answer_that_is_none_is_told(answer: bytes, why: str) -> None:
    with pytest.raises(Unanswered, match=why):
        read_answer(answer)


def program(place: Path, text: str) -> Path:
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return place


async def test_external_classifier_gets_the_name_and_nothing_else(tmp_path: Path) -> None:
    script = program(tmp_path / "enc", "[ $# = 1 ] && env | grep -q SECRET || echo \"parameters: {got: '$1'}\"")
    assert await ask(script, "web1; rm -rf") == Saying(parameters={"got": "web1; rm -rf"})


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo no such node >&2; exit 1", "no such node"),
        ("exit 3", "ended with 3"),
        ("kill -9 $$", "ended with -9"),
        (
            "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done",
            "said more than",
        ),
        ("exec sleep 600", "not done within"),
    ],
)
async def test_external_classifier_that_fails_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    if "sleep" in script:
        monkeypatch.setattr(enc, "DEADLINE_S", 0.2)
    with pytest.raises(Unanswered, match=why):
        await ask(program(tmp_path / "enc", script), "web1")


async def test_external_classifier_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unanswered, match="could not be started"):
        await ask(tmp_path / "nowhere", "web1")
