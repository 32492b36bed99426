"""Lines of a log: one for each message, with its time, bounded, and not more of one kind than a disk can bear."""

import logging
import re
import sys

from precast.base.logs.limits import MAX_KINDS, KindLimit
from precast.base.logs.lines import MAX_CHARACTERS, JournalFormatter, LineFormatter


def record(text: str, *values: object, level: int = logging.INFO) -> logging.LogRecord:
    return logging.LogRecord("precast.x", level, "", 0, text, values, None)


def test_line_begins_with_the_time_in_utc_and_the_level() -> None:
    made = record("hello %s", "web1")
    made.created = 0.5
    assert LineFormatter().format(made) == "1970-01-01T00:00:00Z INFO hello web1"
    assert JournalFormatter().format(record("bad", level=logging.ERROR)) == "<3>bad"


def test_text_of_others_makes_no_line_of_its_own_and_is_cut() -> None:
    line = LineFormatter().format(
        record("%s", "x\n2026-01-01T00:00:00Z INFO forged\r\x1b[31m\x85\u2028" + "y" * 10_000)
    )
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line
    assert len(line) == MAX_CHARACTERS + 1


def test_exception_is_part_of_the_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        made = logging.LogRecord("precast.x", logging.ERROR, "", 0, "it failed", (), sys.exc_info())
    line = LineFormatter().format(made)
    assert re.fullmatch(r"\S+Z ERROR it failed \| Traceback .*ValueError: two \| lines", line)


def test_flood_of_one_kind_is_limited_and_counted_and_others_pass() -> None:
    now_s = 0.0
    limit = KindLimit(3, lambda: now_s)
    passed = [number for number in range(10) if limit.filter(record("a flood of %d", number))]
    assert passed == [0, 1, 2]
    assert limit.filter(record("something else"))
    now_s = 60.0
    after = record("a flood of %d", 10)
    assert limit.filter(after)
    assert after.getMessage() == "a flood of 10 (7 more lines like this were left out)"
    assert all(limit.filter(record(f"kind {number}")) for number in range(2 * MAX_KINDS))


def test_kind_of_a_record_counts_instead_of_its_text() -> None:
    limit = KindLimit(1, lambda: 0.0)
    outcomes = []
    for kind in ("a", "b", "a"):
        made = record("%s", kind)
        made.kind = kind
        outcomes.append(limit.filter(made))
    assert outcomes == [True, True, False]
