"""How sources are combined, which rule matches, and how the answer of an external node classifier is read."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from precast.base.errors import PrecastError
from precast.services.nodes import enc
from precast.services.nodes.classification import check, combine, find_rule
from precast.services.nodes.enc import EncError, ask, read_answer
from precast.services.nodes.rules import check_rule
from precast.store.nodes.classification import ClassificationValues, Rule, SourceClassification

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def entry(source: str, values: ClassificationValues) -> SourceClassification:
    return SourceClassification(source, "", values, NOW)


def test_operator_precedes_rules_and_rules_precede_the_external_classifier() -> None:
    all_say = [
        entry("enc", ClassificationValues("from_enc", "enc", {"a": {"x": 1}, "c": {}}, {"p": 1, "r": 1})),
        entry("operator", ClassificationValues(None, "operator", {"a": {}}, {"p": 3})),
        entry("rules", ClassificationValues("from_rules", "rules", {"a": {"x": 2}, "b": {"y": 2}}, {"p": 2, "q": 2})),
    ]
    assert combine(all_say) == ClassificationValues(
        "from_rules", "operator", {"a": {}, "b": {"y": 2}, "c": {}}, {"p": 3, "q": 2, "r": 1}
    )
    assert combine([]) == ClassificationValues()


def rule(number: int, name: str | None = None, **extensions: str) -> Rule:
    return Rule(number, name, extensions, ClassificationValues(role=f"r{number}"))


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
def test_first_matching_rule_wins(name: str, extensions: dict[str, str], number: int) -> None:
    rules = [
        rule(1, "web*", pp_role="web"),
        rule(2, "web*"),
        rule(3, "/^db[0-9]+$/"),
        rule(4, None, pp_role="*-mail"),
        rule(5),
    ]
    matched = find_rule(rules, name, extensions)
    assert matched is not None
    assert matched.number == number


def test_node_without_a_matching_rule_gets_none() -> None:
    assert find_rule([rule(1, "web*")], "db1", {}) is None


@pytest.mark.parametrize(
    "values",
    [
        ClassificationValues(environment="Production"),
        ClassificationValues(role="web server"),
        ClassificationValues(classes={"Nginx": {}}),
        ClassificationValues(classes={"nginx": {"Bad Name": 1}}),
        ClassificationValues(parameters={"1x": 1}),
        ClassificationValues(parameters={"x": "y" * 70_000}),
    ],
)
def test_invalid_classification_is_refused(values: ClassificationValues) -> None:
    with pytest.raises(PrecastError) as caught:
        check(values)
    assert caught.value.code in ("NODE-002", "NODE-005")


@pytest.mark.parametrize(
    "wrong",
    [
        Rule(0, None, {}, ClassificationValues(role="x")),
        Rule(1, None, {}, ClassificationValues()),
        Rule(1, "/(/", {}, ClassificationValues(role="x")),
        Rule(1, "", {}, ClassificationValues(role="x")),
        Rule(1, "x" * 300, {}, ClassificationValues(role="x")),
    ],
)
def test_invalid_rule_is_refused(wrong: Rule) -> None:
    with pytest.raises(PrecastError) as caught:
        check_rule(wrong)
    assert caught.value.code == "NODE-006"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", ClassificationValues()),
        ("--- {}\n", ClassificationValues()),
        ("classes: [ntp, '::web::front']\n", ClassificationValues(classes={"ntp": {}, "web::front": {}})),
        ("classes: ntp\n", ClassificationValues(classes={"ntp": {}})),
        (
            "---\nclasses:\n  ntp:\n    servers: [a, b]\n  web:\nparameters:\n  tier: 1\n  since: 2026-11-16\nenvironment: test\n",
            ClassificationValues(
                "test", None, {"ntp": {"servers": ["a", "b"]}, "web": {}}, {"tier": 1, "since": "2026-11-16"}
            ),
        ),
        ("classes: {}\nparameters:\nenvironment:\nname: ignored\n", ClassificationValues()),
    ],
)
def test_answer_of_an_external_classifier_is_read_as_puppet_reads_it(
    answer: str, expected: ClassificationValues
) -> None:
    assert read_answer(answer.encode()) == expected


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"- ntp\n", "not a hash"),
        (b"classes: 5\n", "neither a list nor a hash"),
        (b"environment: [a]\n", "is invalid"),
        (b"environment: Not Good\n", "Not Good"),
        (b"classes: {ntp: 5}\n", "is invalid"),
        (b"a: !ruby/object:Gem {}\n", "not plain YAML"),
        (b"a: [\n", "not plain YAML"),
        (b"\xff", "not plain YAML"),
        (b"a: &a [x]\nb: [" + b"*a, " * 40 + b"]\n", "aliases"),
    ],
)
def test_invalid_answer_is_reported(answer: bytes, why: str) -> None:
    with pytest.raises(EncError, match=why):
        read_answer(answer)


def program(place: Path, text: str) -> Path:
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return place


async def test_external_classifier_gets_the_name_and_nothing_else(tmp_path: Path) -> None:
    script = program(tmp_path / "enc", "[ $# = 1 ] && env | grep -q SECRET || echo \"parameters: {got: '$1'}\"")
    assert await ask(script, "web1; rm -rf") == ClassificationValues(parameters={"got": "web1; rm -rf"})


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo no such node >&2; exit 1", "no such node"),
        ("exit 3", "ended with exit code 3"),
        ("kill -9 $$", "ended with exit code -9"),
        (
            "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done",
            "printed more than",
        ),
        ("exec sleep 600", "did not end within"),
    ],
)
async def test_failing_external_classifier_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    if "sleep" in script:
        monkeypatch.setattr(enc, "DEADLINE_S", 0.2)
    with pytest.raises(EncError, match=why):
        await ask(program(tmp_path / "enc", script), "web1")


async def test_missing_external_classifier_is_reported(tmp_path: Path) -> None:
    with pytest.raises(EncError, match="could not be started"):
        await ask(tmp_path / "nowhere", "web1")


def test_answer_whose_aliases_stand_for_any_number_of_values_is_refused() -> None:
    base = "a0: &a0 [" + "x, " * 20_000 + "x]\n"
    doubled = "".join(f"a{number}: &a{number} [*a{number - 1}, *a{number - 1}]\n" for number in range(1, 15))
    with pytest.raises(EncError, match="more than 100000 values"):
        read_answer(f"{base}{doubled}parameters: {{p: *a14}}\n".encode())
    with pytest.raises(EncError):
        read_answer(b"parameters: &p {p: *p}\n")
