"""Issues of jobs: runs and commands over nodes."""

from precast.base.errors import Issue, Kind

NO_SUCH_RUN = Issue("RUN-001", Kind.NOT_FOUND, "there is no run {run}", "list the runs with `precast run list`")
RUN_OVER = Issue(
    "RUN-002",
    Kind.CONFLICT,
    "the run {run} is {state} already",
    "see how it ended with `precast run show {run}`, or of a plan with `precast plan status {run}`",
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
OTHER_ENVIRONMENT = Issue(
    "RUN-006",
    Kind.DENIED,
    "some of the nodes are in an environment that your token is not for",
    "name only nodes of your environments, or ask for a token for the others",
)
RUN_OPEN = Issue(
    "RUN-007",
    Kind.CONFLICT,
    "the run {run} has not ended, so there is nothing to {verb} yet",
    "wait until it has ended, or stop it with `precast run stop {run}`, or of a plan with `precast plan stop {run}`",
)
NOTHING_TO_REPEAT = Issue(
    "RUN-008",
    Kind.CONFLICT,
    "nothing in the run {run} is {states}, so there is nothing to {verb}",
    "see how it ended with `precast run show {run}`, or of a plan with `precast plan status {run}`",
)
TOO_OFTEN = Issue(
    "RUN-005",
    Kind.LIMITED,
    "{person} has started more than {limit} runs and commands in a minute",
    "wait a minute, name more nodes in one run, or raise the server's setting `runs_per_minute`",
)
RUN_OF_PLAN = Issue(
    "RUN-009",
    Kind.CONFLICT,
    "the run {run} is of a plan, whose tasks have an order",
    "use `precast plan {verb} {run}`",
)
