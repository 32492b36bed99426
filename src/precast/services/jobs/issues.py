"""Issues of jobs: runs and commands over nodes."""

from precast.base.errors import Issue, Kind

NO_SUCH_RUN = Issue("RUN-001", Kind.NOT_FOUND, "there is no run {run}", "list the runs with `precast run list`")
RUN_OVER = Issue(
    "RUN-002", Kind.CONFLICT, "the run {run} is {state} already", "see how it ended with `precast run show {run}`"
)
BAD_ARGUMENT = Issue(
    "RUN-003",
    Kind.INPUT,
    "argument {number} of the command is invalid: {reason}",
    "change the arguments of the command",
)
TOO_MANY_RUNS = Issue(
    "RUN-004",
    Kind.UNAVAILABLE,
    "{count} runs are in progress already",
    "wait until one of them ends, or stop one with `precast run stop`",
)
TOO_OFTEN = Issue(
    "RUN-005",
    Kind.LIMITED,
    "{person} has started more than {limit} runs and commands in a minute",
    "wait a minute, name more nodes in one run, or raise the server's setting `runs_per_minute`",
)
