"""Whether a target matches a node."""

import random
from typing import Any, NamedTuple

import pytest

from precast.base.errors import InputError
from precast.services.query.node_fields import NodeFieldReader
from precast.services.query.predicates import compile_predicate
from precast.wire.query.parser import parse


class Sample(NamedTuple):
    """A node with default values."""

    name: str = "web1.example.com"
    role: str | None = "web::front"
    environment: str | None = None
    state: str = "away"
    extensions: dict[str, str] = {"pp_role": "web"}  # noqa: RUF012 - never changed
    facts: dict[str, Any] = {  # noqa: RUF012
        "os": {"family": "Debian", "release": {"major": "12", "full": "12.10"}},
        "processors": {"count": 4, "models": ["Xeon", "Other"]},
        "is_virtual": True,
        "load": 0.5,
        "nothing": None,
        "disks": [{"size": 5}],
        "dotted.name": {"x": 1},
        "zero": 0,
    }


def is_match(text: str, node: Sample = Sample()) -> bool:  # noqa: B008 - immutable
    return compile_predicate(parse(text), NodeFieldReader())(node)


@pytest.mark.parametrize(
    "text",
    [
        "web1.example.com",
        "web*",
        "web?.example.com",
        "db1, web1.example.com",
        "name = web1.example.com",
        "name ~ '^web'",
        "name !~ '^db'",
        "name in (web1.example.com, x)",
        "role = 'web::front'",
        "state = away",
        "trusted.extensions.pp_role = web",
        "trusted.certname = web1.example.com",
        "trusted.hostname = web1",
        "trusted.domain = example.com",
        "facts.os.family = Debian",
        "facts.os.family != RedHat",
        "facts.os.release.major = 12",
        "facts.os.release.major = '12'",
        "facts.os.release.major > 9",
        "facts.os.release.full > '12.9'",
        "facts.os.release.full < 12.2",
        "facts.processors.count >= 4",
        "facts.processors.count <= 4",
        "facts.processors.models = Xeon",
        "facts.processors.models.1 = Other",
        "facts.processors.models ~ '^X'",
        "facts.is_virtual = true",
        "facts.load < 1",
        "facts.disks.0.size = 5",
        "facts.dotted.name.x = 1",
        "facts.zero = 0",
        "exists facts.os",
        "not exists facts.missing",
        "exists facts.nothing",
        "not environment = x",
    ],
)
def test_target_matches_the_node(text: str) -> None:
    assert is_match(text)
    assert not is_match(f"not ({text})")


@pytest.mark.parametrize(
    "text",
    [
        "web1",
        "name = 'web*'",
        "role = web",
        "environment = x",
        "environment != x",
        "environment !~ x",
        "exists environment",
        "facts.missing = x",
        "facts.missing != x",
        "facts.missing < 5",
        "facts.nothing = x",
        "facts.nothing != x",
        "facts.os = x",
        "facts.is_virtual = 'true'",
        "facts.is_virtual = 1",
        "facts.zero = false",
        "facts.os.family > 5",
        "facts.os.family > 'a'",
        "facts.processors.count > many",
        "facts.processors.models != Xeon",
        "facts.processors.models.7 = x",
        "trusted.extensions.pp_zone = x",
        "trusted.extensions.pp_zone != x",
        "facts.is_virtual > 0",
    ],
)
def test_target_does_not_match_the_node(text: str) -> None:
    assert not is_match(text)


def test_name_without_a_domain_has_none() -> None:
    assert not is_match("exists trusted.domain", Sample(name="web1"))


def test_pattern_is_matched_against_the_beginning_of_a_long_text_only() -> None:
    assert not is_match("facts.x ~ 'z'", Sample(facts={"x": "a" * 10_000 + "z"}))


def test_patterns_of_a_query_share_one_budget_of_steps() -> None:
    hostile = " or ".join(f"facts.long ~ '(a|b)*a(a|b){{90}}{number}'" for number in range(20))
    predicate = compile_predicate(parse(hostile), NodeFieldReader())
    text = "".join(random.Random(0).choices("ab", k=900))
    with pytest.raises(InputError, match="too many steps"):
        predicate(Sample(facts={"long": text}))


def test_ordinary_pattern_over_a_large_fleet_stays_within_the_budget() -> None:
    predicate = compile_predicate(parse(r"name ~ '^(web|db)[0-9]{1,5}\.(eu|us)-[a-z]+'"), NodeFieldReader())
    assert sum(predicate(Sample(name=f"web{number}.eu-west")) for number in range(20_000)) == 20_000
