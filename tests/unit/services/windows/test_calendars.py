"""Calendars: what their events mean, over changes of the clocks, and what is refused."""

from datetime import UTC, datetime

import pytest

from precast.base.errors import InputError
from precast.services.windows.calendars import MAX_CHARS, expand_calendar, parse_calendar
from precast.wire.windows.intervals import merge

BERLIN = "TZID=Europe/Berlin"
HOWE = "TZID=Australia/Lord_Howe"


def event(*lines: str) -> str:
    return "\r\n".join(("BEGIN:VEVENT", *lines, "END:VEVENT"))


def calendar(*parts: str) -> str:
    return "\r\n".join(("BEGIN:VCALENDAR", "VERSION:2.0", *parts, "END:VCALENDAR", ""))


def spans(text: str, start: str, end: str, zone: str = "UTC") -> list[str]:
    """The merged spans between two days, as month-day and time in UTC."""
    begin, until = (datetime.fromisoformat(day).replace(tzinfo=UTC) for day in (start, end))
    intervals = merge(expand_calendar(parse_calendar(text, zone), begin, until))
    return [f"{interval.opens_at:%m-%d %H:%M} {interval.closes_at:%m-%d %H:%M}" for interval in intervals]


NIGHTS = event(
    "UID:1", f"DTSTART;{BERLIN}:20260101T023000", f"DTEND;{BERLIN}:20260101T033000", "RRULE:FREQ=DAILY"
)  # fmt: skip


@pytest.mark.parametrize(
    ("what", "events", "start", "end", "expected"),
    [
        (
            "a start in the skipped hour is the first moment after it",
            [NIGHTS], "2026-03-28", "2026-03-31",
            ["03-28 01:30 03-28 02:30", "03-29 01:00 03-29 02:00", "03-30 00:30 03-30 01:30"],
        ),
        (
            "a start in the repeated hour is the first of the two, for the exact length",
            [NIGHTS], "2026-10-24", "2026-10-27",
            ["10-24 00:30 10-24 01:30", "10-25 00:30 10-25 01:30", "10-26 01:30 10-26 02:30"],
        ),
        (
            "an event over the repeated hour lasts exactly as long as on other days",
            [event(f"DTSTART;{BERLIN}:20261024T010000", f"DTEND;{BERLIN}:20261024T040000", "RRULE:FREQ=DAILY")],
            "2026-10-25", "2026-10-26", ["10-24 23:00 10-25 02:00"],
        ),
        (
            "an all-day event has 25 hours on the long day and 23 on the short one",
            [
                event("DTSTART;VALUE=DATE:20261025"),
                event("DTSTART;VALUE=DATE:20260329", "DTEND;VALUE=DATE:20260330"),
            ],
            "2026-01-01", "2026-12-31", ["03-28 23:00 03-29 22:00", "10-24 22:00 10-25 23:00"],
        ),
        (
            "a length of a day is a day of the calendar, a length of hours is exact",
            [event(f"DTSTART;{BERLIN}:20261024T120000", "DURATION:P1DT1H")],
            "2026-10-01", "2026-11-01", ["10-24 10:00 10-25 12:00"],
        ),
        (
            "EXDATE on the repeated day, as a time of the zone",
            [NIGHTS.replace("RRULE", f"EXDATE;{BERLIN}:20261025T023000\r\nRRULE")],
            "2026-10-24", "2026-10-27", ["10-24 00:30 10-24 01:30", "10-26 01:30 10-26 02:30"],
        ),
        (
            "EXDATE in UTC names the first of the repeated times",
            [NIGHTS.replace("RRULE", "EXDATE:20261025T003000Z\r\nRRULE")],
            "2026-10-24", "2026-10-27", ["10-24 00:30 10-24 01:30", "10-26 01:30 10-26 02:30"],
        ),
        (
            "EXDATE in UTC that names the second of the repeated times excludes nothing",
            [NIGHTS.replace("RRULE", "EXDATE:20261025T013000Z\r\nRRULE")],
            "2026-10-25", "2026-10-26", ["10-25 00:30 10-25 01:30"],
        ),
        (
            "EXDATE as a date excludes the whole day",
            [NIGHTS.replace("RRULE", "EXDATE;VALUE=DATE:20261025\r\nRRULE")],
            "2026-10-25", "2026-10-26", [],
        ),
        (
            "RDATE adds times, and periods with lengths of their own",
            [
                event(
                    f"DTSTART;{BERLIN}:20261020T100000", "DURATION:PT1H", f"RDATE;{BERLIN}:20261022T100000",
                    f"RDATE;{BERLIN};VALUE=PERIOD:20261023T100000/PT3H,20261024T100000/20261024T103000",
                )
            ],
            "2026-10-20", "2026-10-27",
            ["10-20 08:00 10-20 09:00", "10-22 08:00 10-22 09:00", "10-23 08:00 10-23 11:00", "10-24 08:00 10-24 08:30"],
        ),
        (
            "overlapping and touching events are one span",
            [
                event(f"DTSTART;{BERLIN}:20261110T220000", "DURATION:PT4H"),
                event("DTSTART:20261111T000000Z", "DURATION:PT2H"),
                event("DTSTART:20261111T020000Z", "DURATION:PT1H"),
            ],
            "2026-11-01", "2026-11-30", ["11-10 21:00 11-11 03:00"],
        ),
        (
            "Lord Howe skips half an hour",
            [event(f"DTSTART;{HOWE}:20261001T021500", "DURATION:PT20M", "RRULE:FREQ=DAILY")],
            "2026-10-03", "2026-10-05", ["10-03 15:30 10-03 15:50", "10-04 15:15 10-04 15:35"],
        ),
        (
            "Lord Howe repeats half an hour",
            [event(f"DTSTART;{HOWE}:20260401T014500", "DURATION:PT20M", "RRULE:FREQ=DAILY")],
            "2026-04-04", "2026-04-06", ["04-04 14:45 04-04 15:05", "04-05 15:15 04-05 15:35"],
        ),
        (
            "one recurrence is moved, another is cancelled",
            [
                event("UID:a", "DTSTART:20261101T100000Z", "DURATION:PT1H", "RRULE:FREQ=DAILY;COUNT=3"),
                event("UID:a", "RECURRENCE-ID:20261102T100000Z", "DTSTART:20261102T150000Z", "DURATION:PT2H"),
                event("UID:a", "RECURRENCE-ID:20261103T100000Z", "DTSTART:20261103T100000Z", "STATUS:CANCELLED"),
            ],
            "2026-11-01", "2026-11-10", ["11-01 10:00 11-01 11:00", "11-02 15:00 11-02 17:00"],
        ),
        (
            "a rule ends with UNTIL, as a moment or as a date",
            [
                event(f"DTSTART;{BERLIN}:20261101T230000", "DURATION:PT1H", "RRULE:FREQ=DAILY;UNTIL=20261102T220000Z"),
                event("DTSTART:20261101T100000Z", "DURATION:PT1H", "RRULE:FREQ=DAILY;UNTIL=20261102"),
            ],
            "2026-11-01", "2026-11-10",
            ["11-01 10:00 11-01 11:00", "11-01 22:00 11-01 23:00", "11-02 10:00 11-02 11:00", "11-02 22:00 11-02 23:00"],
        ),
        (
            "the second Saturday of a month, from a start long ago",
            [event(f"DTSTART;{BERLIN}:20100109T220000", "DURATION:PT6H", "RRULE:FREQ=MONTHLY;BYDAY=2SA")],
            "2026-11-01", "2027-01-01", ["11-14 21:00 11-15 03:00", "12-12 21:00 12-13 03:00"],
        ),
        (
            "every second week keeps its rhythm from a start long ago",
            [event("DTSTART:20200104T220000Z", "DURATION:PT1H", "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,SU")],
            "2026-11-02", "2026-11-30", ["11-14 22:00 11-14 23:00", "11-15 22:00 11-15 23:00",
                                         "11-28 22:00 11-28 23:00", "11-29 22:00 11-29 23:00"],
        ),
        (
            "a span that began before the asked time is still open",
            [event("DTSTART;VALUE=DATE:20261220", "DTEND;VALUE=DATE:20270104")],
            "2026-12-24", "2026-12-25", ["12-19 23:00 01-03 23:00"],
        ),
        (
            "a zone by its name in Windows",
            [event("DTSTART;TZID=W. Europe Standard Time:20260701T020000", "DURATION:PT1H")],
            "2026-07-01", "2026-07-10", ["07-01 00:00 07-01 01:00"],
        ),
        (
            "a VTIMEZONE that lies is not believed",
            [
                *("BEGIN:VTIMEZONE", "TZID:Europe/Berlin", "BEGIN:STANDARD", "DTSTART:19700101T000000", "TZOFFSETFROM:+1100"),
                *("TZOFFSETTO:+1100", "RRULE:FREQ=SECONDLY", "END:STANDARD", "END:VTIME\r\n ZONE"),
                event(f"DTSTART;{BERLIN}:20260701T020000", "DURATION:PT1H"),
            ],
            "2026-07-01", "2026-07-10", ["07-01 00:00 07-01 01:00"],
        ),
    ],
)  # fmt: skip
def test_events_are_open_at_these_times(
    what: str, events: list[str], start: str, end: str, expected: list[str]
) -> None:
    assert spans(calendar(*events), start, end, "Europe/Berlin") == expected, what


def test_times_without_a_zone_are_in_the_calendars_or_the_given_zone() -> None:
    floating = event("DTSTART:20260701T020000", "DURATION:PT1H")
    assert spans(calendar(floating), "2026-07-01", "2026-07-02", "Asia/Tokyo") == []
    assert spans(calendar(floating), "2026-06-30", "2026-07-01", "Asia/Tokyo") == ["06-30 17:00 06-30 18:00"]
    named = calendar("X-WR-TIMEZONE:Europe/Berlin", floating)
    assert spans(named, "2026-07-01", "2026-07-02", "Asia/Tokyo") == ["07-01 00:00 07-01 01:00"]


DAILY = "DTSTART:20260101T000000Z\r\nDURATION:PT1H\r\nRRULE:FREQ=DAILY"
NUMBERS = ",".join(map(str, range(60)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no event"),
        ("hello", "Content line could not be parsed"),
        ("BEGIN:VCALENDAR", "cannot be used"),
        (event("DTSTART:20260101T000000Z", "DURATION:PT1H"), "does not begin with BEGIN:VCALENDAR"),
        (calendar(), "has no event"),
        (calendar("BEGIN:VTIMEZONE", event(DAILY)), "cannot be used"),
        (calendar(event("DURATION:PT1H")), "no DTSTART"),
        (calendar(event("DTSTART:20260101T000000Z", "DTSTART:20260102T000000Z")), "more than one DTSTART"),
        (calendar(event("DTSTART:yesterday", "DURATION:PT1H")), "DTSTART of an event is invalid"),
        (calendar(event("DTSTART:20260101T000000Z")), "no end"),
        (calendar(event("DTSTART:20260101T000000Z", "DTEND:20251231T000000Z")), "ends before it begins"),
        (calendar(event("DTSTART:20260101T000000Z", "DURATION:P3000D")), "longer than 366 days"),
        (calendar(event("DTSTART:20260101T000000Z", "DTEND;VALUE=DATE:20260103")), "ends with a time, or the reverse"),
        (calendar(event("DTSTART:00010101T000000Z", "DURATION:PT1H")), "1-01-01 is not from 1970"),
        (calendar(event("DTSTART;TZID=Mars/Base:20260101T000000", "DURATION:PT1H")), "'Mars/Base' is not known"),
        (calendar(event("DTSTART;TZID=../../etc/passwd:20260101T000000", "DURATION:PT1H")), "is not known"),
        (calendar(event("DTSTART;TZID=/example.org/Europe/Berlin:20260101T000000", "DURATION:PT1H")), "begins with /"),
        (calendar(event("RECURRENCE-ID;RANGE=THISANDFUTURE:20260101T000000Z", DAILY)), "RANGE is not supported"),
        (calendar(event("EXRULE:FREQ=DAILY", DAILY)), "EXRULE is not supported"),
        (calendar(event(f"{DAILY};X-FOO=1")), "X-FOO are not supported"),
        (calendar(event(f"{DAILY};INTERVAL=0")), "INTERVAL must be from 1 to 1000"),
        (calendar(event(f"{DAILY};INTERVAL=99999999999999999999")), "RRULE of an event is invalid"),
        (calendar(event(f"{DAILY};COUNT=0")), "COUNT must be positive"),
        (calendar(event(f"{DAILY};COUNT=3;UNTIL=20270101T000000Z")), "excludes UNTIL"),
        (calendar(event(DAILY.replace("DAILY", "SECONDLY"))), "cannot recur SECONDLY"),
        (calendar(event(DAILY.replace("DAILY", "MINUTELY"))), "cannot recur MINUTELY"),
        (calendar(event(DAILY.replace("DAILY", "HOURLY"))), "cannot recur HOURLY"),
        (calendar(event(DAILY.replace("FREQ=DAILY", "COUNT=3"))), "without FREQ"),
        (calendar(event(f"{DAILY};BYHOUR=1,2;BYMINUTE={NUMBERS}")), "more than 24 times a day"),
        (calendar(event(f"{DAILY};BYMONTH=2;BYMONTHDAY=30")), "does not recur within ten years"),
        (calendar(event(f"{DAILY};BYMONTH=6;BYWEEKNO=53".replace("DAILY", "YEARLY"))), "does not recur within ten years"),
        (calendar(event(f"{DAILY};INTERVAL=7;BYDAY=MO")), "does not recur within ten years"),
        (calendar(event(f"{DAILY};BYSETPOS=0")), "is invalid"),
        (calendar(*[event(DAILY)] * 301), "more than 300 events"),
        ("x" * (MAX_CHARS + 1), "longer than 200000 characters"),
        (calendar("X:" + "a\r\n " * 60_000), "longer than 200000 characters"),
    ],
)  # fmt: skip
def test_calendar_that_cannot_be_used_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_calendar(text, "UTC")
    assert raised.value.code in ("WINDOW-004", "CRON-002")
    assert reason in raised.value.message


@pytest.mark.parametrize(
    "text",
    [
        calendar(*[event(DAILY, f"X-{number}:1") for number in range(300)]).replace("FREQ=DAILY", "FREQ=DAILY;BYHOUR=1,3,5,7"),
        calendar(event(f"{DAILY};BYHOUR={','.join(map(str, range(24)))};COUNT=5000000")).replace("20260101", "19800101"),
    ],
)  # fmt: skip
def test_calendar_that_recurs_too_often_ends_with_an_error(text: str) -> None:
    with pytest.raises(InputError, match="recur more than 20000 times"):
        spans(text, "2026-11-01", "2027-11-01")


def test_millions_of_recurrences_cost_only_those_that_are_asked_for() -> None:
    endless = calendar(event(DAILY.replace("20260101", "19800101")))
    assert len(spans(endless, "2026-11-01", "2026-11-08")) == 7
    counted = calendar(event(f"{DAILY};COUNT=5000000"))
    assert len(spans(counted, "2026-11-01", "2026-11-08")) == 7
