"""cron: a job in a user's crontab, identified by Puppet's comment so that nodes that migrate from Puppet keep their jobs."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from precast.resources import issues, properties
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.crontabs import spool
from precast.resources.crontabs.table import FIELDS, Job, parse, replace_job
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler

_BOUNDS = {"minute": (0, 59), "hour": (0, 23), "monthday": (1, 31), "month": (1, 12), "weekday": (0, 7)}
_NAMES = {
    "month": ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    "weekday": ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}
_SPECIALS = ("reboot", "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly")
_STEPS = re.compile(r"(\*|\d+|\d+-\d+)(/\d+)?")
_VARIABLE = re.compile(r"\s*[A-Za-z_]\w*\s*=.*")
# The prefix under which jobs without a name are listed for purging.
_UNMANAGED = "unmanaged:"


class Cron(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = (
        "command", "special", "minute", "hour", "weekday", "month", "monthday", "environment",
    )  # fmt: skip
    can_be_purged: ClassVar[bool] = True
    # Jobs without a name are listed by their command line, and only their user may read a crontab.
    has_secret_list: ClassVar[bool] = True
    locks: ClassVar[tuple[str, ...]] = (spool.KIND,)
    invalidates: ClassVar[tuple[str, ...] | None] = (spool.KIND,)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._user = str(resource.get("target", resource.get("user", "root")))
        if "/" in self._user or self._user.startswith("."):
            raise properties.invalid_value(resource, "user", self._user, "it is a user's name")
        if self.desired.get("special", ABSENT) != ABSENT:
            for name in FIELDS:
                if self.desired.get(name, ABSENT) != ABSENT:
                    raise properties.invalid_value(
                        resource, name, resource.parameters[name], "special says when it runs"
                    )

    def munge(self, name: str, value: Any) -> Any:
        if name in _BOUNDS:
            return self._times(name, value)
        if name == "environment":
            return self._variables(value)
        text = str(value)
        if "\n" in text:
            raise properties.invalid_value(self.resource, name, value, "it is one line")
        if name == "special" and text not in (ABSENT, *_SPECIALS):
            raise properties.invalid_value(self.resource, name, value, f"it is absent or one of {', '.join(_SPECIALS)}")
        return text.strip()

    def _times(self, name: str, value: Any) -> Any:
        texts = properties.as_texts(value)
        if texts in ([ABSENT], ["*"], []):
            return ABSENT
        return [self._time(name, text.strip()) for text in texts]

    def _time(self, name: str, text: str) -> str:
        """A number, a range or steps; names of months and days become numbers."""
        if text[:3].lower() in _NAMES.get(name, ()) and text.isalpha():
            return str(_NAMES[name].index(text[:3].lower()) + (name == "month"))
        low, high = _BOUNDS[name]
        if not _STEPS.fullmatch(text) or any(not low <= int(digits) <= high for digits in _numbers(text)):
            raise properties.invalid_value(
                self.resource, name, text, f"it is from {low} to {high}, a range, or steps as */5"
            )
        return str(int(text)) if text.isdecimal() else text

    def _variables(self, value: Any) -> Any:
        texts = properties.as_texts(value)
        if texts in ([ABSENT], []):
            return ABSENT
        for text in texts:
            if not _VARIABLE.fullmatch(text):
                raise properties.invalid_value(self.resource, "environment", text, "it is NAME=value, on one line")
        return [text.strip() for text in texts]

    def read(self) -> State:
        job = self._find(_jobs(self.node, self._user))
        return {"ensure": ABSENT} if job is None else _properties(job)

    def _find(self, jobs: Sequence[Job]) -> Job | None:
        """Find the job of this name, or else one without a name that does the same."""
        for job in jobs:
            if job.name == self.name:
                return job
        if self.name.startswith(_UNMANAGED):
            return next((job for job in jobs if job.name is None and _title(job) == self.name), None)
        if "command" not in self.desired:
            return None
        work = self._job(None)
        return next((job for job in jobs if job.name is None and job.is_same_work(work)), None)

    def is_in_sync(self, name: str, previous: Any, desired: Any) -> bool:
        if name == "environment" and ABSENT not in (previous, desired):
            return sorted(previous) == sorted(desired)
        return bool(previous == desired)

    def apply(self, change: Change) -> None:
        """Write the whole job with the first of several changes; for the others it is then in sync."""
        lines = spool.read_crontab(self.node, self._user)
        present = self._find(parse(lines))
        new = None if self.ensure == ABSENT else self._job(present)
        fresh = replace_job(lines, present, new)
        if fresh != lines:
            spool.write_crontab(self.node, self._user, fresh)

    def _job(self, present: Job | None) -> Job:
        """The desired job; fields that are not managed keep their current values."""
        state = {} if present is None else _properties(present)

        def value(name: str) -> Any:
            field = self.desired.get(name, state.get(name, ABSENT))
            return None if field == ABSENT else field

        if value("command") is None:
            raise issues.MISSING_VALUE.error(name="command", reason="a job runs something", type="cron")
        fields = {name: value(name) for name in FIELDS if value(name) is not None}
        # A desired time replaces a special time that the job has now, and the other way round.
        special = None if any(self.desired.get(name, ABSENT) != ABSENT for name in FIELDS) else value("special")
        environment = tuple(value("environment") or ())
        return Job(self.name, value("command"), special, {} if special else fields, environment, ())

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        for user in spool.users(node):
            for job in _jobs(node, user):
                present = {name: value for name, value in _properties(job).items() if value != ABSENT}
                yield Instance(
                    job.name or _title(job), {**present, "provider": "crontab", "target": user, "user": user}
                )


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+", text.split("/")[0])


def _jobs(node: ManagedNode, user: str) -> list[Job]:
    tables: dict[str, list[Job]] = {}
    known = node.snapshot(spool.KIND, lambda: tables)
    if user not in known:
        known[user] = parse(spool.read_crontab(node, user))
    return known[user]


def _title(job: Job) -> str:
    return f"{_UNMANAGED}{job.text()[-1]}"


def _properties(job: Job) -> dict[str, Any]:
    return {
        "ensure": PRESENT,
        "command": job.command,
        "environment": list(job.environment) or ABSENT,
        "special": job.special or ABSENT,
        **{name: job.fields.get(name, ABSENT) for name in FIELDS},
    }
