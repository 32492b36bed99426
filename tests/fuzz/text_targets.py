"""Fuzz targets for texts of people and environments: patterns, queries, data files, Puppetfiles, user data, calendars, schedules."""

import base64
import contextlib
import gzip
import re
import warnings
from datetime import UTC, datetime, timedelta

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.boot.userdata import encodings, reader
from precast.boot.userdata.reader import ReaderContext
from precast.lang.hiera.data.documents import read_json, read_yaml
from precast.lang.ruby.declarations.puppetfile import read_puppetfile
from precast.services.windows.calendars import expand_calendar, parse_calendar
from precast.services.windows.cron import parse_cron
from precast.wire.query.parser import parse
from precast.wire.query.patterns import BadPattern, Pattern
from precast.wire.windows.intervals import merge
from tests.fuzz.target import FuzzTarget

# Patterns and texts of this length are so short that even a backtracking matcher answers.
_SHORT = 14


def check_pattern(data: bytes) -> None:
    """A pattern is refused, or answers for every text; a short one answers as Python's own matcher does."""
    expression, _, text = data.decode("latin-1").partition("\0")
    try:
        pattern = Pattern(expression)
    except BadPattern:
        return
    answer = pattern.matches(text[:2000])
    if len(expression) <= _SHORT and len(text) <= _SHORT and text.isascii() and "\n" not in text:
        # It refuses repetitions of repetitions, and warns of what may become syntax for nested sets.
        with contextlib.suppress(re.error), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert answer == (re.search(expression, text, re.ASCII) is not None)


def check_query(data: bytes) -> None:
    """A query is refused by a declared error, or is a term."""
    with contextlib.suppress(PrecastError):
        parse(data.decode("utf-8", "replace"))


def check_data_file(data: bytes) -> None:
    """A data file is refused by a declared error, or is a value."""
    text = data.decode("utf-8", "replace")
    for read in (read_yaml, read_json):
        with contextlib.suppress(PrecastError):
            read(Source("data.yaml", text))


def check_puppetfile(data: bytes) -> None:
    """A Puppetfile is refused by a declared error, or is a list of modules."""
    with contextlib.suppress(PrecastError):
        read_puppetfile(Source("Puppetfile", data.decode("utf-8", "replace")))


def check_user_data(data: bytes) -> None:
    """User data never raises, and what it expands to is bounded."""
    result = reader.read(data, ReaderContext(_fetch_nothing))
    assert sum(len(script.content) for script in result.scripts) <= 2 * encodings.MAX_BYTES


def check_calendar(data: bytes) -> None:
    """A calendar is refused by a declared error, or is open in intervals that follow each other."""
    with contextlib.suppress(PrecastError):
        events = parse_calendar(data.decode("utf-8", "replace"), "Europe/Berlin")
        intervals = merge(expand_calendar(events, _NOW, _NOW + timedelta(days=400)))
        assert all(interval.opens_at < interval.closes_at for interval in intervals)


def check_schedule(data: bytes) -> None:
    """A schedule is refused by a declared error, or names a moment in the future."""
    expression, _, zone = data.decode("utf-8", "replace").partition("\0")
    with contextlib.suppress(PrecastError):
        assert parse_cron(expression, zone).next_after(_NOW) > _NOW


def _fetch_nothing(_: str) -> bytes:
    raise OSError("there is no network here")


_NOW = datetime(2026, 3, 28, tzinfo=UTC)
_EVENT = (
    b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Europe/Berlin:20260101T023000\r\nDURATION:PT1H\r\n"
    b"RRULE:FREQ=MONTHLY;BYDAY=2SA,-1SU;BYHOUR=2;COUNT=9\r\nEXDATE;VALUE=DATE:20260328\r\nRDATE;VALUE=PERIOD:20260401T000000Z/PT2H\r\n"
    b"END:VEVENT\r\nEND:VCALENDAR\r\n"
)
_CLOUD_CONFIG = b"#cloud-config\nusers:\n - name: a\n   ssh_authorized_keys: [ssh-rsa AAAA]\nwrite_files:\n- {path: /x, content: y}\n"
_MIME = (
    b'Content-Type: multipart/mixed; boundary="b"\nMIME-Version: 1.0\n\n--b\nContent-Type: text/cloud-config\n\n'
    b"#cloud-config\na: 1\n--b\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\nIyEvYmluL3NoCg==\n--b--\n"
)
TARGETS = {
    "patterns": FuzzTarget(
        check_pattern,
        (b"^web[0-9]{1,3}\\.(a|b)*$\0web12.ab", b"(a*)*b\0aaaaaaaab", b"[^a-c\\d]+\\s?\0x y", b"a|b?|c{2}\0cc"),
        ("precast.wire.query.patterns",),
    ),
    "queries": FuzzTarget(
        check_query,
        (b"facts.os.family = Debian and not web*", b'name ~ "^a" or resources(File["/x"])', b"a, b, c & (d | e)"),
        ("precast.wire.query",),
    ),
    "data-files": FuzzTarget(
        check_data_file,
        (b"a: &x [1, 2]\nb: *x\nc: {<<: {d: 1}}\n", b'{"a": [1, 2.5, null, "x"]}', b"---\n- !ruby/sym a\n- 0o17\n"),
        ("precast.lang.hiera.data",),
    ),
    "puppetfiles": FuzzTarget(
        check_puppetfile,
        (
            b"forge 'x'\nmod 'puppetlabs/stdlib', '9.0.0'\nmod 'a', :git => 'https://h/x.git', :ref => 'main'\n",
            b"mod 'a/b', :latest\nmoduledir 'm'\n",
        ),
        ("precast.lang.ruby",),
    ),
    "user-data": FuzzTarget(
        check_user_data,
        (
            _CLOUD_CONFIG,
            _MIME,
            gzip.compress(_CLOUD_CONFIG, mtime=0),
            base64.b64encode(_CLOUD_CONFIG),
            b"#!/bin/sh\necho\n",
            b"## template: jinja\n#cloud-config\na: {{ v1.x | default('y') }}\n{% if a %}b: 1{% endif %}\n",
            b"#include\nhttp://x/y\n",
            b"#cloud-config-archive\n- {type: text/cloud-config, content: 'a: 1'}\n",
        ),
        ("precast.boot.userdata",),
    ),
    "calendars": FuzzTarget(
        check_calendar,
        (
            _EVENT,
            _EVENT.replace(b"MONTHLY;BYDAY=2SA,-1SU", b"YEARLY;INTERVAL=2;BYWEEKNO=13;BYSETPOS=-1"),
            _EVENT.replace(b"UID:1", b"RECURRENCE-ID:20260101T013000Z\r\nSTATUS:CANCELLED"),
        ),
        ("precast.services.windows",),
    ),
    "schedules": FuzzTarget(
        check_schedule,
        (b"*/5 2 1-15/2 jan,feb mon-fri\0Europe/Berlin", b"@daily\0Australia/Lord_Howe", b"30 2 29 2 *\0UTC"),
        ("precast.services.windows",),
    ),
}
