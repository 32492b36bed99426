"""What a machine can say about clocks when a certificate is not valid by one of them."""

import re
import socket
import ssl
from datetime import UTC, datetime, timedelta

# Clocks that NTP corrects differ by less.
TOLERANCE = timedelta(minutes=5)
# OpenSSL's codes for a certificate that begins later, and for one that has ended.
NOT_YET_VALID, EXPIRED = 9, 10
ASK_S = 5.0
ASK = b"GET /health/live HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n"
MAX_ANSWER_BYTES = 16 * 1024
_DATE = re.compile(rb"\r\n[Dd]ate: \w{3}, (\d\d) (\w{3}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT\r\n")
_NUMBERS = re.compile(r"[0-9]+")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def is_about_time(error: ssl.SSLCertVerificationError) -> bool:
    """Whether a certificate was refused only because of this machine's clock."""
    return error.verify_code in (NOT_YET_VALID, EXPIRED)


def describe_offset(offset: timedelta) -> str:
    """An offset as people say it: `40 days ahead of`, `3 hours behind`."""
    size = abs(offset)
    units = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))
    unit, length = next((each for each in units if size >= 2 * each[1]), ("second", timedelta(seconds=1)))
    count = round(size / length)
    return f"{count} {unit}{'' if count == 1 else 's'} {'behind' if offset < timedelta(0) else 'ahead of'}"


def format_moment(time_at: datetime) -> str:
    return f"{time_at:%Y-%m-%d %H:%M:%SZ}"


def is_same_trouble(one: str, other: str) -> bool:
    """Whether two texts say the same at different times: then it is logged once."""
    return _NUMBERS.sub("", one) == _NUMBERS.sub("", other)


def ask_server_time(host: str, port: int) -> datetime | None:
    """The time that a server's answers carry; None if it gives none. It is a hint for people: the server is not authenticated."""
    try:
        with (
            socket.create_connection((host, port), ASK_S) as connection,
            trust_any().wrap_socket(connection, server_hostname=host) as tls,
        ):
            tls.sendall(ASK)
            return parse_server_time(tls.recv(MAX_ANSWER_BYTES))
    except OSError:
        return None


def trust_any() -> ssl.SSLContext:
    """A TLS context that trusts any server: only for hints, and for content whose digest the caller checks."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def parse_server_time(answer: bytes) -> datetime | None:
    """The time in the headers of an HTTP answer.

    It is parsed here: a confined process can import no more modules, and those of the standard library that parse dates do.
    """
    found = _DATE.search(answer)
    if found is None or found[2].decode() not in _MONTHS:
        return None
    day, month, year, hour, minute, second = (
        *(int(found[1]), _MONTHS.index(found[2].decode()) + 1),
        *(int(found[group]) for group in range(3, 7)),
    )
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def explain_difference(now: datetime, server: datetime | None) -> str:
    """Say that this machine's clock and the server's differ, in one line with what to do; empty if they agree, or nobody knows."""
    if server is None or abs(now - server) <= TOLERANCE:
        return ""
    shown = f"(this machine shows {format_moment(now)}, the server {format_moment(server)})"
    return f"this machine's clock is {describe_offset(now - server)} the server's {shown}: set the one that is wrong"
