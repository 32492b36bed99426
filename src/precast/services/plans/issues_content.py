"""Errors of the content that nodes send for the tasks of plans. Codes 190 to 199 of PLAN."""

from precast.base.errors import Issue, Kind

NOT_COLLECTING = Issue(
    "PLAN-190",
    Kind.CONFLICT,
    "no task on {node} collects files now",
    "a node sends content only while it carries out such a task; `precast plan status` shows what runs",
)
QUOTA_REACHED = Issue(
    "PLAN-191",
    Kind.CONFLICT,
    "{node} cannot send {size} more bytes: a run collects at most {node_bytes} bytes from a node, {job_bytes} from all, and {files} files",
    "collect fewer or smaller files, or use `sync` for whole directories",
)
