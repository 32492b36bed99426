"""What can be wrong with questions about reports."""

from precast.base.errors import Issue, Kind

NO_REPORT = Issue(
    "REPORT-001",
    Kind.NOT_FOUND,
    "there is no report {report}",
    "see `precast report list`; reports are kept for as long as the server's setting report_retention says",
)
BAD_QUESTION = Issue(
    "REPORT-002",
    Kind.INPUT,
    "{name}={value} cannot be asked for: {problem}",
    "see the API's reference, `GET /v1/reports`",
)
NO_RUN = Issue(
    "REPORT-003",
    Kind.NOT_FOUND,
    "{node} has told of no run",
    "see `precast node show {node}`; `precast run {node}` has it run now",
)
BAD_RETURNERS = Issue(
    "REPORT-004",
    Kind.INPUT,
    "the returners in {path} cannot be used: {reason}",
    "see docs/howto/follow-reports.md; the file is TOML, for the server's user alone",
)
