"""Stable facts and volatile ones, apart and together again."""

import base64
import random
import zlib
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precast.agent.facts.submission import split
from precast.wire.facts import FactsBody, facts_body, merge, travelling
from precast.wire.sessions import FACTS, LOSS, VERSIONS, Record

names = st.sampled_from(
    ["memory", "system", "available", "total", "system_uptime", "uptime", "os", "load_averages", "1m"]
)
values = st.recursive(
    st.integers() | st.lists(st.integers()), lambda inner: st.dictionaries(names, inner), max_leaves=12
)


def test_split_takes_out_what_changes_by_nature() -> None:
    stable, volatile = split(
        {
            "memory": {"system": {"total": "1 GiB", "available": "1 MiB"}},
            "system_uptime": {"seconds": 5},
            "os": {"name": "Debian"},
        }
    )
    assert stable == {"memory": {"system": {"total": "1 GiB"}}, "os": {"name": "Debian"}}
    assert volatile == {"memory": {"system": {"available": "1 MiB"}}, "system_uptime": {"seconds": 5}}


@settings(deadline=None)  # a busy machine is not a failure
@given(st.dictionaries(names, values))
def test_split_parts_merged_are_the_whole(facts: dict[str, Any]) -> None:
    stable, volatile = split(facts)
    assert merge(stable, volatile) == facts


NEWEST = VERSIONS[0]


def record(kind: str, body: FactsBody) -> Record:
    return Record(1, kind, datetime(2026, 1, 1, tzinfo=UTC), msgspec.Raw(msgspec.json.encode(body)))


def mixed(count: int) -> dict[str, Any]:
    seeded = random.Random(7)
    return {f"package{number}": str(seeded.random()) for number in range(count)}


def test_stable_part_travels_packed_and_is_the_same() -> None:
    body = facts_body(mixed(100), {"uptime": 5})
    sent = msgspec.json.decode(travelling(record(FACTS, body), NEWEST).body, type=FactsBody)
    assert (sent.digest, sent.volatile, sent.whole) == (body.digest, body.volatile, None)
    assert isinstance(sent.packed, bytes)
    assert zlib.decompress(sent.packed) == body.whole


@pytest.mark.parametrize("is_whole", [False, True])
def test_volatile_part_travels_packed_and_is_the_same(is_whole: bool) -> None:
    body = facts_body(mixed(3), mixed(100))
    body = body if is_whole else body.without_stable()
    sent = msgspec.json.decode(travelling(record(FACTS, body), NEWEST).body, type=FactsBody)
    assert (sent.digest, sent.volatile, sent.whole) == (body.digest, msgspec.Raw(b"{}"), body.whole)
    assert isinstance(sent.packed_volatile, bytes)
    assert zlib.decompress(sent.packed_volatile) == bytes(body.volatile)
    assert sent.without_stable().packed_volatile == sent.packed_volatile
    assert travelling(record(FACTS, body), 3) == record(FACTS, body)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (FACTS, facts_body(mixed(100), {}).without_stable()),
        (FACTS, facts_body(mixed(3), {})),  # too little to gain anything
        (FACTS, facts_body({"zeros": "0" * 100_000}, {})),  # better than a server believes
        (
            FACTS,
            facts_body({"key": base64.b64encode(random.Random(7).randbytes(3_000)).decode()}, {}),
        ),  # more as base64
        (FACTS, facts_body({}, mixed(3))),
        (FACTS, facts_body({}, {"zeros": "0" * 100_000})),
        (LOSS, facts_body(mixed(100), mixed(100))),
    ],
)
def test_what_is_not_packed_travels_as_it_is(kind: str, body: FactsBody) -> None:
    assert travelling(record(kind, body), NEWEST) == record(kind, body)


def test_record_that_is_not_understood_travels_as_it_is() -> None:
    odd = msgspec.structs.replace(record(FACTS, facts_body({}, {})), body=msgspec.Raw(b'{"digest":1}'))
    assert travelling(odd, NEWEST) == odd
