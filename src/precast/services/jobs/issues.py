"""What can go wrong with runs over nodes."""

from precast.base.errors import Issue, Kind

NO_SUCH_RUN = Issue("RUN-001", Kind.NOT_FOUND, "there is no run {run}", "`precast run list` shows them")
RUN_OVER = Issue(
    "RUN-002", Kind.CONFLICT, "the run {run} is {state} already", "`precast run show {run}` tells how it ended"
)
BAD_ARGUMENT = Issue(
    "RUN-003", Kind.INPUT, "argument {number} of the command cannot be used: {reason}", "give the command other words"
)
TOO_MANY_RUNS = Issue(
    "RUN-004",
    Kind.UNAVAILABLE,
    "{count} runs are going on already",
    "wait until one of them ends, or stop one with `precast run stop`",
)
TOO_OFTEN = Issue(
    "RUN-005",
    Kind.LIMITED,
    "{person} has begun more than {limit} runs and commands in a minute",
    "wait a moment, name more nodes in one run, or raise `runs_per_minute` of the server",
)
