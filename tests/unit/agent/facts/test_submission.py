"""Splitting, merging and compressing the stable and the volatile facts."""

import base64
import random
import zlib
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precast.agent.facts.submission import split_facts
from precast.wire.facts import FactUpload, compress_facts, make_upload, merge
from precast.wire.sessions import FACTS, LOSS, Record

names = st.sampled_from(
    ["memory", "system", "available", "total", "system_uptime", "uptime", "os", "load_averages", "1m"]
)
values = st.recursive(
    st.integers() | st.lists(st.integers()), lambda inner: st.dictionaries(names, inner), max_leaves=12
)


def test_split_separates_volatile_facts() -> None:
    stable, volatile = split_facts(
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
    stable, volatile = split_facts(facts)
    assert merge(stable, volatile) == facts


def record(kind: str, body: FactUpload) -> Record:
    return Record(1, kind, datetime(2026, 1, 1, tzinfo=UTC), msgspec.Raw(msgspec.json.encode(body)))


def mixed(count: int) -> dict[str, Any]:
    seeded = random.Random(7)
    return {f"package{number}": str(seeded.random()) for number in range(count)}


def test_stable_part_is_sent_compressed_and_is_the_same() -> None:
    body = make_upload(mixed(100), {"uptime": 5})
    sent = msgspec.json.decode(compress_facts(record(FACTS, body)).body, type=FactUpload)
    assert (sent.digest, sent.volatile, sent.whole) == (body.digest, body.volatile, None)
    assert isinstance(sent.packed, bytes)
    assert zlib.decompress(sent.packed) == body.whole


@pytest.mark.parametrize("is_whole", [False, True])
def test_volatile_part_is_sent_compressed_and_is_the_same(is_whole: bool) -> None:
    body = make_upload(mixed(3), mixed(100))
    body = body if is_whole else body.without_stable()
    sent = msgspec.json.decode(compress_facts(record(FACTS, body)).body, type=FactUpload)
    assert (sent.digest, sent.volatile, sent.whole) == (body.digest, msgspec.Raw(b"{}"), body.whole)
    assert isinstance(sent.packed_volatile, bytes)
    assert zlib.decompress(sent.packed_volatile) == bytes(body.volatile)
    assert sent.without_stable().packed_volatile == sent.packed_volatile


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (FACTS, make_upload(mixed(100), {}).without_stable()),
        (FACTS, make_upload(mixed(3), {})),  # too small to gain anything
        (FACTS, make_upload({"zeros": "0" * 100_000}, {})),  # a server would refuse to decompress it
        (
            FACTS,
            make_upload({"key": base64.b64encode(random.Random(7).randbytes(3_000)).decode()}, {}),
        ),  # larger as base64
        (FACTS, make_upload({}, mixed(3))),
        (FACTS, make_upload({}, {"zeros": "0" * 100_000})),
        (LOSS, make_upload(mixed(100), mixed(100))),
    ],
)
def test_part_that_does_not_gain_is_sent_as_it_is(kind: str, body: FactUpload) -> None:
    assert compress_facts(record(kind, body)) == record(kind, body)


def test_invalid_record_is_sent_as_it_is() -> None:
    odd = msgspec.structs.replace(record(FACTS, make_upload({}, {})), body=msgspec.Raw(b'{"digest":1}'))
    assert compress_facts(odd) == odd
