"""What an expired certificate of this machine means: it is renewed for a while, and later the machine must be enrolled again."""

from datetime import datetime

from precast.agent import issues
from precast.base.clock_differences import format_moment
from precast.wire.identity.bodies import RENEWAL_GRACE


def is_beyond_renewal(not_after: datetime, now: datetime) -> bool:
    """Whether a certificate expired so long ago, by this machine's clock, that no server renews it."""
    return not_after + RENEWAL_GRACE <= now


def describe_expiry(name: str, not_after: datetime, now: datetime) -> str:
    """One line about an expired certificate, with the next step if there is one for people; empty if it is valid."""
    if not_after > now:
        return ""
    if not is_beyond_renewal(not_after, now):
        return "this machine's certificate has expired"
    error = issues.EXPIRED_TOO_LONG.error(name=name, not_after=format_moment(not_after), now=format_moment(now))
    return f"{error.message} [{error.code}]; {error.hint}"
