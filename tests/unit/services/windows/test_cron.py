"""Cron expressions: what they mean, in which order they come, and what is refused."""

from datetime import UTC, datetime

import pytest

from precast.base.errors import InputError
from precast.services.windows.cron import parse_cron

NOVEMBER = "2026-11-18T12:00Z"  # a Wednesday


def moments(text: str, zone: str, after: str, count: int) -> list[str]:
    schedule, moment, found = parse_cron(text, zone), datetime.fromisoformat(after), []
    for _ in range(count):
        moment = schedule.next_after(moment)
        found.append(f"{moment:%Y-%m-%dT%H:%MZ}")
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", ["2026-11-18T12:01Z", "2026-11-18T12:02Z"]),
        ("*/20 * * * *", ["2026-11-18T12:20Z", "2026-11-18T12:40Z", "2026-11-18T13:00Z"]),
        ("5,10-12 3 * * *", ["2026-11-19T03:05Z", "2026-11-19T03:10Z", "2026-11-19T03:11Z", "2026-11-19T03:12Z"]),
        ("10-30/10 3 * * *", ["2026-11-19T03:10Z", "2026-11-19T03:20Z", "2026-11-19T03:30Z", "2026-11-20T03:10Z"]),
        ("0 12 * * *", ["2026-11-19T12:00Z"]),
        ("0 0 1 jan *", ["2027-01-01T00:00Z"]),
        ("0 0 * JAN-feb mon", ["2027-01-04T00:00Z", "2027-01-11T00:00Z"]),
        ("0 0 * * 0", ["2026-11-22T00:00Z"]),
        ("0 0 * * 7", ["2026-11-22T00:00Z"]),
        ("0 0 * * 5-7", ["2026-11-20T00:00Z", "2026-11-21T00:00Z", "2026-11-22T00:00Z", "2026-11-27T00:00Z"]),
        ("0 0 29 2 *", ["2028-02-29T00:00Z", "2032-02-29T00:00Z"]),
        ("0 0 31 * *", ["2026-12-31T00:00Z", "2027-01-31T00:00Z", "2027-03-31T00:00Z"]),
        # Both days restricted: one of them is enough.
        ("0 0 13 * fri", ["2026-11-20T00:00Z", "2026-11-27T00:00Z", "2026-12-04T00:00Z", "2026-12-11T00:00Z", "2026-12-13T00:00Z"]),
        # A field that begins with * restricts nothing by itself, so both must match.
        ("0 0 */2 * fri", ["2026-11-27T00:00Z", "2026-12-11T00:00Z", "2026-12-25T00:00Z"]),
        ("0 0 1-31/2 * fri", ["2026-11-19T00:00Z", "2026-11-20T00:00Z", "2026-11-21T00:00Z"]),
        ("@hourly", ["2026-11-18T13:00Z"]),
        ("@daily", ["2026-11-19T00:00Z"]),
        ("@midnight", ["2026-11-19T00:00Z"]),
        (" @Weekly ", ["2026-11-22T00:00Z"]),
        ("@monthly", ["2026-12-01T00:00Z"]),
        ("@yearly", ["2027-01-01T00:00Z"]),
        ("@annually", ["2027-01-01T00:00Z"]),
    ],
)  # fmt: skip
def test_expression_names_these_moments(text: str, expected: list[str]) -> None:
    assert moments(text, "UTC", NOVEMBER, len(expected)) == expected


@pytest.mark.parametrize(
    ("zone", "text", "after", "expected"),
    [
        # Berlin skips 02:00 to 03:00 on 2026-03-29 (01:00Z) and repeats 02:00 to 03:00 on 2026-10-25 (00:00Z and 01:00Z).
        ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T00:30Z"]),
        ("Europe/Berlin", "0,15,30 2 * * *", "2026-03-28T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T00:00Z"]),
        ("Europe/Berlin", "0 2,3 * * *", "2026-03-28T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T00:00Z"]),
        ("Europe/Berlin", "59 1 * * *", "2026-03-28T12:00Z", ["2026-03-29T00:59Z", "2026-03-29T23:59Z"]),
        ("Europe/Berlin", "0 3 * * *", "2026-03-28T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T01:00Z"]),
        ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00Z", ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]),
        ("Europe/Berlin", "30 2 * * *", "2026-10-25T00:40Z", ["2026-10-26T01:30Z"]),
        ("Europe/Berlin", "0 3 * * *", "2026-10-24T12:00Z", ["2026-10-25T02:00Z"]),
        # Minute or hour with *: real time, so nothing in the skipped hour and twice in the repeated one.
        ("Europe/Berlin", "*/30 * * * *", "2026-03-29T00:10Z", ["2026-03-29T00:30Z", "2026-03-29T01:00Z", "2026-03-29T01:30Z"]),
        ("Europe/Berlin", "*/30 2 * * *", "2026-03-28T12:00Z", ["2026-03-30T00:00Z", "2026-03-30T00:30Z"]),
        ("Europe/Berlin", "*/30 2 * * *", "2026-10-24T12:00Z", [
            "2026-10-25T00:00Z", "2026-10-25T00:30Z", "2026-10-25T01:00Z", "2026-10-25T01:30Z", "2026-10-26T01:00Z",
        ]),
        ("Europe/Berlin", "0 */2 * * *", "2026-10-24T23:00Z", ["2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T03:00Z"]),
        ("Europe/Berlin", "30 * * * *", "2026-10-25T00:10Z", ["2026-10-25T00:30Z", "2026-10-25T01:30Z", "2026-10-25T02:30Z"]),
        ("Europe/Berlin", "*/30 2 25 10 *", "2026-10-25T00:35Z", ["2026-10-25T01:00Z", "2026-10-25T01:30Z", "2027-10-25T00:00Z"]),
        # New York skips 02:00 on 2026-03-08 (07:00Z) and repeats 01:00 on 2026-11-01 (05:00Z and 06:00Z).
        ("America/New_York", "30 2 * * *", "2026-03-08T00:00Z", ["2026-03-08T07:00Z", "2026-03-09T06:30Z"]),
        ("America/New_York", "30 1 * * *", "2026-11-01T00:00Z", ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]),
        # Lord Howe moves by 30 minutes: it skips 02:00 to 02:30 on 2026-10-04 and repeats 01:30 to 02:00 on 2026-04-05.
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00Z", ["2026-10-03T15:30Z", "2026-10-04T15:15Z"]),
        ("Australia/Lord_Howe", "45 2 * * *", "2026-10-03T00:00Z", ["2026-10-03T15:45Z", "2026-10-04T15:45Z"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00Z", ["2026-04-04T14:45Z", "2026-04-05T15:15Z"]),
        ("Australia/Lord_Howe", "*/15 1 * * *", "2026-04-04T14:25Z", [
            "2026-04-04T14:30Z", "2026-04-04T14:45Z", "2026-04-04T15:00Z", "2026-04-04T15:15Z", "2026-04-05T14:30Z",
        ]),
        # Casablanca goes back an hour for Ramadan: 2026-02-15 at 03:00 (02:00Z), and forward on 2026-03-22 at 02:00 (02:00Z).
        ("Africa/Casablanca", "30 2 * * *", "2026-02-14T12:00Z", ["2026-02-15T01:30Z", "2026-02-16T02:30Z"]),
        ("Africa/Casablanca", "30 2 * * *", "2026-03-21T12:00Z", ["2026-03-22T02:00Z", "2026-03-23T01:30Z"]),
        # Beirut repeats the hour before midnight.
        ("Asia/Beirut", "30 23 * * *", "2026-10-24T12:00Z", ["2026-10-24T20:30Z", "2026-10-25T21:30Z"]),
        ("Asia/Beirut", "0 0 * * *", "2026-10-24T12:00Z", ["2026-10-24T22:00Z"]),
        # St. John's once repeated 23:01 to 00:01, across midnight.
        ("America/St_Johns", "*/30 * 30 10 *", "2010-10-31T00:00Z", [
            "2010-10-31T00:30Z", "2010-10-31T01:00Z", "2010-10-31T01:30Z", "2010-10-31T02:00Z", "2011-10-30T02:30Z",
        ]),
        ("America/St_Johns", "*/30 23 6 11 *", "2010-11-07T00:00Z", ["2010-11-07T01:30Z", "2010-11-07T02:00Z", "2010-11-07T03:00Z"]),
        # Samoa left out 2011-12-30: its times come at the beginning of the next day.
        ("Pacific/Apia", "0 9 30 12 *", "2011-12-29T12:00Z", ["2011-12-30T10:00Z", "2012-12-29T19:00Z"]),
    ],
)  # fmt: skip
def test_daylight_saving_is_handled_as_vixies_cron_handles_it(
    zone: str, text: str, after: str, expected: list[str]
) -> None:
    assert moments(text, zone, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "zone", "code", "reason"),
    [
        ("", "UTC", "CRON-001", "has 0 fields, not 5"),
        ("* * * *", "UTC", "CRON-001", "has 4 fields, not 5"),
        ("* * * * * *", "UTC", "CRON-001", "has 6 fields, not 5"),
        ("60 * * * *", "UTC", "CRON-001", "'60' is not valid as the minute, which goes from 0 to 59"),
        ("* 24 * * *", "UTC", "CRON-001", "'24' is not valid as the hour"),
        ("* * 0 * *", "UTC", "CRON-001", "'0' is not valid as the day of the month"),
        ("* * * 13 *", "UTC", "CRON-001", "'13' is not valid as the month"),
        ("* * * * 8", "UTC", "CRON-001", "'8' is not valid as the day of the week"),
        ("* * mon * *", "UTC", "CRON-001", "'mon' is not valid as the day of the month"),
        ("* * * foo *", "UTC", "CRON-001", "'foo' is not valid as the month"),
        ("-5 * * * *", "UTC", "CRON-001", "'-5' is not valid as the minute"),
        ("1,,2 * * * *", "UTC", "CRON-001", "'' is not valid as the minute"),
        ("30-10 * * * *", "UTC", "CRON-001", "the range '30-10' ends before it begins"),
        ("0 0 * * fri-mon", "UTC", "CRON-001", "ends before it begins"),
        ("5/15 * * * *", "UTC", "CRON-001", "such as 5-59/15"),
        ("*/0 * * * *", "UTC", "CRON-001", "must be from 1 to 59"),
        ("*/90 * * * *", "UTC", "CRON-001", "must be from 1 to 59"),
        ("@reboot", "UTC", "CRON-001", "@reboot names no time"),
        ("@fortnightly", "UTC", "CRON-001", "it is none of @yearly"),
        ("1," * 5000 + "1 * * * *", "UTC", "CRON-001", "longer than 200"),
        ("٣ * * * *", "UTC", "CRON-001", "is not valid as the minute"),
        ("* * * * *", "Mars/Base", "CRON-002", "'Mars/Base' is not known"),
        ("* * * * *", "../../etc/passwd", "CRON-002", "is not known"),
        ("* * * * *", "", "CRON-002", "is not known"),
        ("0 0 30 2 *", "UTC", "CRON-003", "names no time"),
        ("0 0 31 4,6,9,11 *", "UTC", "CRON-003", "names no time"),
    ],
)
def test_invalid_expression_is_refused_with_the_reason(text: str, zone: str, code: str, reason: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_cron(text, zone)
    assert raised.value.code == code
    assert reason in raised.value.message
    assert raised.value.hint


def test_search_ends_where_the_calendar_ends() -> None:
    with pytest.raises(InputError) as raised:
        parse_cron("0 0 29 2 *", "Europe/Berlin").next_after(datetime(9998, 6, 1, tzinfo=UTC))
    assert raised.value.code == "CRON-003"


def test_rarest_day_is_found() -> None:
    """29 February on a Monday: 40 years apart over the year 2100."""
    assert moments("0 0 */28 2 mon", "UTC", "2096-02-28T00:00Z", 1) == ["2100-02-01T00:00Z"]
    schedule = parse_cron("0 0 */28 2 mon", "UTC")
    moment = datetime(2072, 3, 1, tzinfo=UTC)
    while (moment := schedule.next_after(moment)).day != 29:
        pass
    assert f"{moment:%Y-%m-%d}" == "2112-02-29"
