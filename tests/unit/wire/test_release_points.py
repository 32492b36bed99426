"""Where a rollback goes to, as people write it."""

from datetime import UTC, datetime

import msgspec
import pytest

from precast.base.errors import InputError
from precast.wire.catalogs.bodies import ReleaseBody, RollbackBody
from precast.wire.catalogs.release_points import CodeBeginning, Point, ReleaseNumber, describe_point, parse_point

AT = datetime(2026, 11, 15, 20, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "point", "described"),
    [
        ("7", ReleaseNumber(7), "release 7"),
        ("1234567", ReleaseNumber(1_234_567, CodeBeginning("1234567")), "release 1234567"),
        ("1234567890123", CodeBeginning("1234567890123"), "commit 123456789012"),
        ("12345D7", CodeBeginning("12345d7"), "commit 12345d7"),
        ("2026-11-15T20:00Z", AT, "2026-11-15 20:00:00Z"),
        ("2026-11-15T22:00+02:00", AT, "2026-11-15 20:00:00Z"),
    ],
)
def test_point_is_a_number_a_commit_or_a_time_in_any_zone(text: str, point: Point, described: str) -> None:
    assert parse_point(text) == point
    assert describe_point(parse_point(text)) == described


@pytest.mark.parametrize("text", ["", "abc", "12345g7", "2026-11-15T20:00", "0001-01-01T00:00+12:00", "-1", "٣"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_point(text)
    assert raised.value.code == "RELEASE-003"


@pytest.mark.parametrize("body", [ReleaseBody, RollbackBody])
@pytest.mark.parametrize("number", [-1, 2**63, 10**40])
def test_number_that_no_database_can_hold_is_refused(body: type[msgspec.Struct], number: int) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"nodes": {"all": true}, "release": %d}' % number, type=body)
