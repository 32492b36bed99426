"""Errors of runs of plans. Codes 100 to 189 of PLAN."""

from precast.base.errors import Issue, Kind

PLANNING_FAILED = Issue(
    "PLAN-101",
    Kind.UNAVAILABLE,
    "the plan {plan} could not be checked: {reason}",
    "make the plan or its number of nodes smaller; if it is small, report a bug",
)
NO_SUCH_PLAN = Issue(
    "PLAN-102",
    Kind.NOT_FOUND,
    "the environment {environment} has no plan {plan} (it has: {known})",
    "a plan is plans/NAME.yaml or a directory plans/NAME of the environment; or give files",
)
TOO_LARGE = Issue(
    "PLAN-103",
    Kind.INPUT,
    "the plans of the environment are too large: more than {files} files or {mib} MiB",
    "remove files from plans/ that are not part of plans",
)
SEVERAL_ENVIRONMENTS = Issue(
    "PLAN-104",
    Kind.INPUT,
    "the nodes are of several environments: {environments}",
    "a run of a plan belongs to one environment: start it for each",
)
BROKEN = Issue(
    "PLAN-105",
    Kind.INPUT,
    "the plan {plan} has {errors}, the first: {first}",
    "see all of them, with their places: `precast plan start` of this plan on the same nodes, with --dry-run",
)
NO_MASTER = Issue(
    "PLAN-106",
    Kind.INPUT,
    "the plan has tasks for the role master, and no node was named as master: {tasks}",
    "name the node that is meant: --master NODE",
)
COMMANDS_NEEDED = Issue(
    "PLAN-107",
    Kind.DENIED,
    "the tasks {tasks} run commands, which needs the role commands for all environments; nothing was started",
    "ask a person with such a token to start it, or leave these tasks out with --skip",
)
NOT_COMPILED = Issue(
    "PLAN-108",
    Kind.CONFLICT,
    "{count} of entry points cannot be compiled, the first: {entry} for {node}: {reason}",
    "correct the code and deploy it; see: precast catalog errors",
)
STILL_COMPILING = Issue(
    "PLAN-109",
    Kind.UNAVAILABLE,
    "{count} of entry points must be compiled first, among them {entry} for {node}",
    "start the plan again in a moment; they are being compiled. See: precast status",
)
NOTHING_RELEASED = Issue(
    "PLAN-110",
    Kind.CONFLICT,
    "task {task} applies a part of the released catalog, and nothing is released to {node}",
    "release it first: precast release {node}",
)
NO_SUCH_TASK = Issue(
    "PLAN-111",
    Kind.NOT_FOUND,
    "the run {run} has no task {task}{guess}",
    "see the tasks: precast plan status {run}",
)
NO_APPROVAL = Issue(
    "PLAN-112",
    Kind.CONFLICT,
    "task {task} of the run {run} {reason}",
    "see what waits for an approval: precast plan status {run}",
)
NOT_ON_NODE = Issue(
    "PLAN-113",
    Kind.NOT_FOUND,
    "task {task} of the run {run} does not run on {node}",
    "see where it runs: precast plan status {run}",
)
NOTHING_TO_DO = Issue(
    "PLAN-114",
    Kind.CONFLICT,
    "the plan {plan} has nothing to do: no node has its roles, conditions are false, or tasks were left out or do nothing in a no-op run",
    "see how many, and why: the same `precast plan start` with --dry-run",
)
NOT_A_PLAN = Issue(
    "PLAN-115",
    Kind.NOT_FOUND,
    "there is no run {run} of a plan",
    "list them: precast plan list",
)
EXPRESSION_FAILED = Issue(
    "PLAN-116",
    Kind.INPUT,
    "an expression of task {task} fails on {node}: {reason}",
    "correct the expression; see: precast plan check",
)
UNKNOWN_EXECUTABLE = Issue(
    "PLAN-117",
    Kind.INPUT,
    "the environment {environment} has no task {name}",
    "a task is a file modules/MODULE/tasks/NAME of the environment",
)
NO_DATA = Issue(
    "PLAN-118",
    Kind.NOT_FOUND,
    "the run {run} has no data of {node}",
    "name a node of the run: precast plan status {run}",
)
NOT_ORDERED = Issue(
    "PLAN-119",
    Kind.CONFLICT,
    "what task {task} would run on {node} is not what was ordered when the action was created",
    "create the action again: a person orders what runs as a command, and the plan or its tasks have changed",
)
NO_CONSENT = Issue(
    "PLAN-120",
    Kind.INPUT,
    "the plan would run commands on nodes that allow none ({count}), the first: {task} on {node}",
    "set allow_exec = true in the agent's configuration of these nodes, or leave the tasks out; then: precast facts collect {node}",
)
PROGRAM_TOO_LARGE = Issue(
    "PLAN-121",
    Kind.INPUT,
    "what task {task} does on {node} is too large for an order: {size} bytes, and at most {limit}",
    "have files that are large copied (`copy_files`, `sync`, or a manifest), and split a task that has many",
)
RUN_TOO_LARGE = Issue(
    "PLAN-122",
    Kind.INPUT,
    "with what task {task} does on {node}, the plan has more than {mib} MiB to do",
    "run it over fewer nodes at once, or have large files copied (`copy_files`, `sync`, or a manifest)",
)
APPROVALS_NEEDED = Issue(
    "PLAN-123",
    Kind.DENIED,
    "releases of {environment} need the approval of {needed} other people, and task {task} would apply an entry point without it",
    "run it with --noop, apply parts of released catalogs instead (type: catalog), or leave the task out",
)
WAITS_NOT_CHECKED = Issue(
    "PLAN-124",
    Kind.UNAVAILABLE,
    "it could not be checked whether the nodes wait for each other: {reason}",
    "try again, with fewer nodes if there are very many; to start unchecked: --override-futures",
)
