"""Issues of actions."""

from precast.base.errors import Issue, Kind

NO_SUCH_ACTION = Issue(
    "ACTION-001", Kind.NOT_FOUND, "there is no action {action}", "list the actions with `precast action list`"
)
WRONG_STATE = Issue(
    "ACTION-002",
    Kind.CONFLICT,
    "the action {action} is {state}, so `{change}` is not possible",
    "see `precast action show {action}`",
)
ROLE_NEEDED = Issue(
    "ACTION-003",
    Kind.DENIED,
    "`{what}` of an action of the kind {kind} needs a token with the role {role}",
    "use a token with that role",
)
BAD_PLAN = Issue(
    "ACTION-004", Kind.INPUT, "an action of the kind {kind} {problem}", "see `precast action create {kind} --help`"
)
BAD_TIMES = Issue("ACTION-005", Kind.INPUT, "{problem}", "see `precast action create run --help`")
BAD_PARAMETER = Issue(
    "ACTION-006",
    Kind.INPUT,
    "the parameter {name} of the command is invalid: {reason}",
    "write each parameter as --param NAME=VALUE, and {{NAME}} in the arguments of the command",
)
OTHER_ENVIRONMENT = Issue(
    "ACTION-007",
    Kind.DENIED,
    "some of the nodes are in an environment that your token is not for",
    "select nodes with a target such as \"environment = 'NAME'\"",
)
SEVERAL_ENVIRONMENTS = Issue(
    "ACTION-008",
    Kind.INPUT,
    "the nodes are in the environments {environments}, and {reason}",
    "create one action for each environment",
)
RELEASE_NEEDS_APPROVAL = Issue(
    "ACTION-009",
    Kind.CONFLICT,
    "releases in the environment {environment} need approvals, which are for exact catalogs and not for a schedule",
    "request the release with `precast release`; then `precast action create run` applies it",
)
COMMAND_NOT_SEALED = Issue(
    "ACTION-010",
    Kind.INPUT,
    "a command can be ordered in advance for at most {days} days",
    "choose an earlier time, or an earlier --until",
)
TOO_MANY_ACTIONS = Issue(
    "ACTION-011",
    Kind.LIMITED,
    "there are {count} actions that have not ended",
    "cancel some of them with `precast action cancel`",
)
NO_JOB = Issue(
    "ACTION-012",
    Kind.CONFLICT,
    "the action {action} has {what}",
    "see `precast action show {action}`",
)
UNKNOWN_CHANGE = Issue(
    "ACTION-013", Kind.NOT_FOUND, "an action cannot be changed by {change}", "choose one of: {changes}"
)
NO_OWNER = Issue(
    "ACTION-014",
    Kind.DENIED,
    "an action needs the token of its owner, and a browser session has none",
    "create it with `precast action create`",
)
NOT_REPEATED = Issue(
    "ACTION-016",
    Kind.DENIED,
    "the job of the action {action} cannot be repeated: {reason}",
    "create an action of your own with `precast action create`",
)
BROKEN_TASK = Issue(
    "ACTION-017",
    Kind.INPUT,
    "the task {task} cannot be started: {reason}",
    "{hint}",
)
APPROVED_TIMES = Issue(
    "ACTION-015",
    Kind.CONFLICT,
    "the action {action} was approved for its own times, and cannot be started at others",
    "create an action for now with `precast action create`, and have it approved",
)
