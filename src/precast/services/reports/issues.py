"""Issues of reports and of returners."""

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
    "{name}={value} is invalid: {problem}",
    "see `GET /v1/reports` in the reference of the API",
)
NO_RUN = Issue(
    "REPORT-003",
    Kind.NOT_FOUND,
    "{node} has reported no run",
    "see `precast node show {node}`; start a run with `precast run {node}`",
)
BAD_RETURNERS = Issue(
    "REPORT-004",
    Kind.INPUT,
    "the returners file {path} is invalid: {reason}",
    "see docs/howto/follow-reports.md; the file is TOML, and only the server's user may read it",
)
