"""Errors of the content that nodes send for the tasks of plans. Codes 190 to 199 of PLAN."""

from precast.base.errors import Issue, Kind

NOT_COLLECTING = Issue(
    "PLAN-190",
    Kind.CONFLICT,
    "no task on {node} collects files now, and no command runs there",
    "a node sends content only while it does that; `precast plan status` and `precast run list` show what runs",
)
QUOTA_REACHED = Issue(
    "PLAN-191",
    Kind.CONFLICT,
    "{node} cannot send {size} more bytes: a run collects at most {node_bytes} bytes from a node, {job_bytes} from all, and {files} files",
    "collect fewer or smaller files, let commands print less, or use `sync` for whole directories",
)
NOT_STORED = Issue(
    "PLAN-192",
    Kind.NOT_FOUND,
    "{what} of {node} in the run {run} is not stored: {reason}",
    "name a node and a task of which the run has more output than it shows, or with --path a file that the task has collected",
)
