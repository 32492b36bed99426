"""What the job of an action shall do."""

from datetime import datetime

import msgspec

from precast.services.actions.stored import StoredAction
from precast.services.jobs import requests as jobs
from precast.services.jobs.requests import JobRequest, request_command, request_job, request_run
from precast.wire.actions import bodies
from precast.wire.jobs.views import NewExecJob, NewRunJob

# The kind of job that each kind of action makes.
JOB_KINDS = {
    bodies.RUN: jobs.APPLY,
    bodies.RELEASE: jobs.RELEASE,
    bodies.COMMAND: jobs.EXEC,
    bodies.FACTS: jobs.FACTS,
    bodies.RESTART: jobs.RESTART,
    bodies.REBOOT: jobs.REBOOT,
}


def make_request(stored: StoredAction, count: int, until: datetime | None = None) -> JobRequest:
    """The request of a job over `count` nodes, none of which begins after `until`. Raises InputError RUN-003 for an invalid argument."""
    new = stored.new
    if new.work.kind == bodies.COMMAND:
        body = NewExecJob(new.nodes, stored.argv, new.limits, new.work.output_bytes, new.why)
        request = request_command(body, count)
    elif new.work.kind in (bodies.RUN, bodies.RELEASE):
        request = request_run(NewRunJob(new.nodes, new.work.mode, new.work.tags, new.limits, new.why), count)
    else:
        request = request_job(new.limits, count, new.why)
    return msgspec.structs.replace(request, until=until, overrides_window=new.overrides_window)
