"""Limits of the signer: how many requests of each verb it serves per minute, after a burst of as many.

They bound what a stolen socket can do in a given time. The defaults allow the first boot of a large site.
"""

from collections import OrderedDict
from collections.abc import Mapping

from precast.base.clock import Clock
from precast.services.identity import issues

# Per minute, for each verb. `describe` costs nothing and is asked once a second by each process.
PER_MINUTE: dict[str, int] = {
    "enrol": 6_000,
    "renew": 6_000,
    "approve": 1_000,
    "sign_policy": 60_000,
    "sign_release": 60_000,
    "sign_order": 60_000,
    "sign_task": 60_000,
    "seal_policies": 600,
    "seal_command": 600,
    # A plan has one request for each different program; each has a person's valid token.
    "seal_standing": 60_000,
    "seal_enrolment": 600,
    "seal_person": 60,
    "certify_server": 600,
    "sign_crl": 600,
    "revoke_token": 600,
    "rotate": 10,
}
# How often one certificate can be renewed, per hour: a node that loses the answers tries again.
RENEWALS_PER_HOUR = 60
MAX_REMEMBERED = 200_000


class Bucket:
    """A number of requests that fills up steadily."""

    __slots__ = ("_at_s", "_left", "_most", "_per_s")

    def __init__(self, most: int, per_s: float, now_s: float) -> None:
        self._most, self._per_s = most, per_s
        self._left, self._at_s = float(most), now_s

    def take(self, now_s: float) -> bool:
        self._left = min(self._most, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Limits:
    """The limits of one signer."""

    def __init__(self, clock: Clock, per_minute: Mapping[str, int]) -> None:
        self._clock = clock
        self._per_minute = {**PER_MINUTE, **per_minute}
        now_s = clock.monotonic_s()
        self._verbs = {verb: Bucket(most, most / 60, now_s) for verb, most in self._per_minute.items()}
        self._renewals: OrderedDict[str, Bucket] = OrderedDict()

    def check(self, verb: str) -> None:
        """Raises LimitedError CA-032 if the verb was asked for too often."""
        bucket = self._verbs.get(verb)
        if bucket is not None and not bucket.take(self._clock.monotonic_s()):
            raise issues.SIGNER_LIMIT.error(verb=verb, limit=self._per_minute[verb])

    def check_renewal(self, certificate: str) -> None:
        """Raises LimitedError CA-032 if this certificate was renewed too often."""
        now_s = self._clock.monotonic_s()
        bucket = self._renewals.get(certificate)
        if bucket is None:
            bucket = self._renewals[certificate] = Bucket(RENEWALS_PER_HOUR, RENEWALS_PER_HOUR / 3600, now_s)
            if len(self._renewals) > MAX_REMEMBERED:
                self._renewals.popitem(last=False)
        self._renewals.move_to_end(certificate)
        if not bucket.take(now_s):
            raise issues.SIGNER_LIMIT.error(verb="renew of one certificate", limit=RENEWALS_PER_HOUR)
