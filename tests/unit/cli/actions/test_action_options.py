"""The options of `precast action create`: times, parameters and limits as they are sent."""

from datetime import UTC, datetime, timedelta

import pytest

from precast.base.errors import InputError
from precast.cli.actions import create
from precast.cli.actions.options import limits_of, read_time, times_of
from precast.cli.main import build_parser
from precast.wire.actions.bodies import ActionTimes, Parameter


def parse(*words: str) -> object:
    return build_parser(["action"]).parse_args(["action", "create", *words])


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2027-03-01T02:00Z", "UTC", datetime(2027, 3, 1, 2, tzinfo=UTC)),
        ("2027-03-01T02:00+01:00", "UTC", datetime(2027, 3, 1, 1, tzinfo=UTC)),
        ("2027-07-01T02:00", "Europe/Berlin", datetime(2027, 7, 1, 0, tzinfo=UTC)),
        ("2027-03-28T02:30", "Europe/Berlin", datetime(2027, 3, 28, 1, tzinfo=UTC)),  # it does not exist there
        ("2027-03-01", "UTC", datetime(2027, 3, 1, tzinfo=UTC)),
    ],
)
def test_time_is_read_with_its_offset_or_on_the_clocks_of_a_zone(text: str, zone: str, expected: datetime) -> None:
    assert read_time(text, zone) == expected


def test_time_from_now_on_is_a_duration() -> None:
    before = datetime.now(UTC)
    assert before + timedelta(hours=2) <= read_time("+2h", "UTC") <= datetime.now(UTC) + timedelta(hours=2)


@pytest.mark.parametrize(("text", "zone"), [("soon", "UTC"), ("+2x", "UTC"), ("2027-03-01T02:00", "Mars/Olympus")])
def test_time_that_is_none_is_refused(text: str, zone: str) -> None:
    with pytest.raises(InputError) as caught:
        read_time(text, zone)
    assert caught.value.code == "CLI-001"


def test_schedule_options_are_sent_as_given() -> None:
    args = parse(
        "facts", "web1", "--cron", "@daily", "--zone", "Europe/Berlin", "--missed", "all:7", "--start-within", "1h"
    )
    expected = ActionTimes(cron="@daily", zone="Europe/Berlin", missed="all", missed_limit=7, start_within_s=3600.0)
    assert times_of(args) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("missed", ["never", "all:0", "all:101", "once:3", "all:x"])
def test_unknown_policy_for_missed_due_times_is_refused(missed: str) -> None:
    with pytest.raises(InputError, match="is unknown"):
        times_of(parse("facts", "web1", "--missed", missed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], (0.0, None)),
        (["--away", "wait"], (86_400.0, None)),
        (["--away", "wait", "--away-for", "2h"], (7_200.0, None)),
        (["--away", "try", "--tries", "5"], (0.0, 5)),
    ],
)
def test_policy_for_nodes_that_are_away(words: list[str], expected: tuple[float, int | None]) -> None:
    limits = limits_of(parse("reboot", "web1", *words))  # type: ignore[arg-type]
    assert (limits.away_s, limits.tries) == expected


def test_limits_are_sent_and_checked() -> None:
    limits = limits_of(parse("run", "web1", "--canary", "1", "--batch", "25%", "--per-minute", "60"))  # type: ignore[arg-type]
    assert (limits.canary, limits.batch, limits.per_minute) == ("1", "25%", 60)
    for words in (["--canary", "none"], ["--per-minute", "0"], ["--tries", "-1"]):
        with pytest.raises(InputError):
            limits_of(parse("run", "web1", *words))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words",
    [
        ["--tries", "3"],
        ["--away", "wait", "--tries", "3"],
        ["--away-for", "1h"],
        ["--away", "try", "--away-for", "1h"],
    ],
)
def test_option_that_would_have_no_effect_is_refused(words: list[str]) -> None:
    with pytest.raises(InputError, match="has no effect without --away") as caught:
        limits_of(parse("run", "web1", *words))  # type: ignore[arg-type]
    assert caught.value.code == "CLI-001"


@pytest.mark.parametrize(
    ("option", "text", "range_"),
    [("--batch", "0", "1"), ("--at-once", "101%", "1"), ("--canary", "some", "1"), ("--tolerate", "200%", "0")],
)
def test_amount_out_of_its_range_is_refused_with_the_range(option: str, text: str, range_: str) -> None:
    with pytest.raises(InputError, match=rf"{option} '{text}' is not valid") as caught:
        limits_of(parse("run", "web1", option, text))  # type: ignore[arg-type]
    assert caught.value.hint == f"give a number of nodes from {range_} on, such as 10, or a percentage up to 100%"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name=a=b", ("name", Parameter("a=b"))),
        ("count:integer=5", ("count", Parameter("5", "integer"))),
        ("env:a|b=a", ("env", Parameter("a", "choice", ["a", "b"]))),
    ],
)
def test_parameter_has_a_name_a_type_and_a_value(text: str, expected: tuple[str, Parameter]) -> None:
    assert create._parameter(text) == expected


@pytest.mark.parametrize("type_", ["float", "int", "strng", "a|", "|"])
def test_type_of_a_parameter_that_does_not_exist_is_refused(type_: str) -> None:
    with pytest.raises(InputError, match="there is no type"):
        create._parameter(f"count:{type_}=5")


@pytest.mark.parametrize("text", ["name", "=x", "Name=x", ""])
def test_parameter_without_name_or_value_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is invalid"):
        create._parameter(text)
