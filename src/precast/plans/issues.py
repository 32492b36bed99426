"""Errors and warnings of plans, in sections by the modules that raise them."""

from precast.base.errors import Issue, Kind

# Loading: 001 to 029. From 020 they are warnings.

BAD_YAML = Issue("PLAN-001", Kind.INPUT, "this is not valid YAML: {problem}", "{advice}")
BAD_CHARACTER = Issue(
    "PLAN-002",
    Kind.INPUT,
    "the character {character} is not allowed in YAML",
    "remove it, or write it as an escape in double quotes",
)
TOO_MUCH = Issue("PLAN-003", Kind.INPUT, "{what} has more than {limit}", "split it, or leave something out")
BAD_TAG = Issue(
    "PLAN-004",
    Kind.INPUT,
    "the tag {tag} is not allowed here",
    "remove it; a plan has texts, numbers, true and false, lists and mappings",
)
BAD_KEY = Issue("PLAN-005", Kind.INPUT, "{key} is a key, but not a text", "put it in quotes, if this text is meant")
DECLARED_TWICE = Issue("PLAN-006", Kind.INPUT, "{what} is given twice; first in {first}", "keep one of them")
INCLUDE_CYCLE = Issue(
    "PLAN-007", Kind.INPUT, "plans run each other in a cycle: {chain}", "remove one of these run_plan tasks"
)
SECOND_DOCUMENT = Issue(
    "PLAN-008",
    Kind.INPUT,
    "a second document begins here",
    "remove the line ---, or put the second one in a file of its own",
)
WRONG_VALUE = Issue("PLAN-009", Kind.INPUT, "{what} must be {wanted}, not {found}", "{advice}")
MISSING_FIELD = Issue("PLAN-010", Kind.INPUT, "{what} has no {field}", "{advice}")
BAD_ID = Issue(
    "PLAN-011",
    Kind.INPUT,
    "{id} cannot be the id of a task",
    "an id has letters, digits, and . _ - : + between them",
)
UNKNOWN_TYPE = Issue("PLAN-012", Kind.INPUT, "the type {type} of {task} does not exist{guess}", "the types are {types}")
ID_TWICE = Issue(
    "PLAN-013",
    Kind.INPUT,
    "there are two tasks {id}; the first is in {first}",
    "rename one of them, or load their files as different layers: a later layer replaces tasks of an earlier one",
)
NO_TEST = Issue("PLAN-014", Kind.INPUT, "{what} tests nothing{guess}", "a test has one of {known}")
MIXED_CONDITIONS = Issue(
    "PLAN-015",
    Kind.INPUT,
    "the conditions of task {outer} and of its task {inner} cannot be joined: one is in YAQL, the other is not",
    "write both in YAQL",
)
NOT_AN_OPTION = Issue("PLAN-016", Kind.INPUT, "{option} is not an option of {what}{guess}", "there are {known}")
NOT_FOR_RUN_PLAN = Issue(
    "PLAN-017",
    Kind.INPUT,
    "{what} would have no effect: a run_plan itself is on no node",
    "write it at tasks of that plan, or at a task before or after it",
)
BAD_RESULT = Issue(
    "PLAN-018",
    Kind.INPUT,
    "the expression in {field} of task {task} does not give dependencies: {problem}",
    "let it give a list as the field may have it without an expression",
)
NO_SUCH_PLAN = Issue(
    "PLAN-019",
    Kind.NOT_FOUND,
    "task {task} runs the plan {plan}, which does not exist",
    "a plan NAME is plans/NAME.yaml of the environment, or the files below plans/NAME",
)
UNKNOWN_FIELD = Issue(
    "PLAN-020", Kind.INPUT, "{field} of {what} is not known, and has no effect{guess}", "correct it, or remove it"
)
OTHER_SPELLING = Issue("PLAN-021", Kind.INPUT, "{what} is {found}, which is read as {usual}", "write {usual}")
MISPLACED = Issue("PLAN-022", Kind.INPUT, "{field} of {what} stands outside its parameters", "move it below parameters")
NOT_READ = Issue("PLAN-023", Kind.INPUT, "{what} has no effect: {reason}", "remove it")
NOT_COMPUTED = Issue("PLAN-024", Kind.INPUT, "{what} cannot be an expression; {instead}", "write the value itself")
GIVEN_TWICE = Issue("PLAN-025", Kind.INPUT, "{what} is given twice; {counts}", "remove one of them")
RUNS_NOWHERE = Issue(
    "PLAN-026",
    Kind.INPUT,
    "task {task} runs nowhere: it has no roles, groups or tags, and no group has it",
    "write `roles: [ROLE]`, or `roles: '*'` for all nodes",
)
NO_COUNTERPART = Issue(
    "PLAN-027",
    Kind.INPUT,
    "task {task} is skipped: tasks of the type {type} have no counterpart in Precast",
    "write a shell task that does what is needed here, or remove it",
)
ONCE_ON_THE_MASTER = Issue(
    "PLAN-028",
    Kind.INPUT,
    "task {task} runs once, on the master, and not on the master for each of its nodes",
    "write it as a shell task with `role: master`; tasks of other nodes wait for it by cross-depends",
)
NOTHING_HERE = Issue("PLAN-029", Kind.INPUT, "{what} has no tasks", "add some, or leave it out")

# The expansion over nodes, subsets and checks: 030 to 049

BAD_PATTERN = Issue(
    "PLAN-030",
    Kind.INPUT,
    "the pattern {pattern} is not supported: {reason}",
    "plain regular expressions work: . [ ] ( ) | * + ? {{2,5}} ^ $",
)
EXPENSIVE_PATTERNS = Issue(
    "PLAN-031",
    Kind.INPUT,
    "the patterns of the plan take too long to match, at {pattern}",
    "name tasks and roles exactly, or use fewer and simpler patterns",
)
BAD_TOLERANCE = Issue(
    "PLAN-032",
    Kind.INPUT,
    "the fault tolerance {tolerance!r} is invalid",
    'write a number of nodes, such as 1 or -1 (all but one), or a percentage, such as "5%"',
)
CYCLE = Issue(
    "PLAN-033",
    Kind.INPUT,
    "tasks wait for each other in a cycle: {cycle}",
    "remove one of these fields, or name fewer tasks or roles in it",
)
TOO_MANY_INSTANCES = Issue(
    "PLAN-034",
    Kind.LIMITED,
    "the plan has {count} {what}, more than the limit of {limit}",
    "choose fewer nodes, or split the plan",
)
UNKNOWN_TASK = Issue(
    "PLAN-035",
    Kind.INPUT,
    "{name} matches no task of the plan{guess}",
    "see the tasks: precast plan show",
)
NOT_A_TASK = Issue(
    "PLAN-036",
    Kind.INPUT,
    "{name} is a {what}, which does nothing by itself",
    "choose the tasks themselves, or use --from and --to, which may name a stage",
)
UNKNOWN_NODE = Issue(
    "PLAN-037",
    Kind.INPUT,
    "{name} matches no node of the run{guess}",
    "the nodes of the run are those that the targets select",
)
UNKNOWN_EVENT = Issue(
    "PLAN-038",
    Kind.INPUT,
    "no task runs on the event {name}{guess}",
    "a task names its events in reexecute_on or refresh_on",
)
EMPTY_SUBSET = Issue(
    "PLAN-039",
    Kind.INPUT,
    "the choice selects no task on any node: {choice}",
    "widen the choice; without any choice the whole plan runs",
)
NOT_PRODUCED = Issue(
    "PLAN-059",
    Kind.INPUT,
    "task {task} consumes {key}, which no task of the plan produces",
    "add produces: [{key}] to the task that gives it; without one the value must stand in the environment when the task begins",
)
MISSING_INPUT = Issue(
    "PLAN-040",
    Kind.INPUT,
    "task {task} takes its input {input} from {name}, which {problem}",
    "name a task that runs before it on the same node, or on nodes of a role",
)
NEVER_STARTS = Issue(
    "PLAN-041",
    Kind.INPUT,
    "task {task} can never start on {node}: {reason}",
    "remove the dependency, or name a task and role that exist",
)
UNKNOWN_DEPENDENCY = Issue(
    "PLAN-042",
    Kind.INPUT,
    "task {task} names {name} in {field}; it matches no task, so the dependency is dropped{guess}",
    "correct the name, or remove it",
)
GROUP_AS_TASK = Issue(
    "PLAN-043",
    Kind.INPUT,
    "task {task} names {name} in {field}; that is a group and no task, so the dependency is dropped",
    "name tasks of the group; groups have no order",
)
STAGE_OF_ROLE = Issue(
    "PLAN-044",
    Kind.INPUT,
    "task {task} names the stage {name} in {field}, on nodes of a role; stages are on none, so the dependency is dropped",
    "name it in requires or required_for, or write role: null",
)
UNKNOWN_GROUP_TASK = Issue(
    "PLAN-045",
    Kind.INPUT,
    "group {group} names {name} in its tasks; it matches no task{guess}",
    "correct the name, or remove it",
)
TASK_WITHOUT_NODES = Issue(
    "PLAN-046",
    Kind.INPUT,
    "no node has task {task}: its roles are {roles}",
    "{hint}",
)
GROUP_WITHOUT_NODES = Issue(
    "PLAN-047",
    Kind.INPUT,
    "no node is in group {group}: its roles are {roles}",
    "give nodes the role or tag; without them the group means nothing in this run",
)
IDLE_LIMIT = Issue(
    "PLAN-048",
    Kind.INPUT,
    "task {task} {limit}, and runs on {nodes}",
    "lower it, or remove it",
)

INPUT_OF_NOTHING = Issue(
    "PLAN-049",
    Kind.INPUT,
    "task {task} takes its input {input} from {name}, which is of the type {type} and returns nothing, so it is null",
    "take it from a task of the type shell or task, which prints a JSON object, or from one that applies a catalog",
)

# Parameters, programs, conditions and expressions: 050 to 079

BAD_PARAMETER_NAME = Issue(
    "PLAN-050",
    Kind.INPUT,
    "{name} is not the name of a parameter",
    "a name consists of lower-case letters, digits and underscores, and begins with a letter",
)
BAD_PARAMETER_TYPE = Issue(
    "PLAN-051",
    Kind.INPUT,
    "the type of parameter {name} cannot be used: {reason}",
    "types of plain data work: String, Integer, Float, Boolean, Enum, Pattern, Array, Hash, Struct, Tuple, Optional, Variant, Data",
)
BAD_DECLARATION = Issue(
    "PLAN-052",
    Kind.INPUT,
    "the declaration of parameter {name} is invalid: {reason}",
    "write a mapping below {name}, with type, default and description; all three may be left out",
)
UNKNOWN_PARAMETER = Issue(
    "PLAN-053",
    Kind.INPUT,
    "the plan has no parameter {name}{guess}",
    "its parameters are: {known}",
)
MISSING_PARAMETER = Issue(
    "PLAN-054",
    Kind.INPUT,
    "parameter {name} has no value",
    "give it with --param {name}=VALUE; its type is {type}",
)
BAD_PARAMETER_VALUE = Issue(
    "PLAN-055",
    Kind.INPUT,
    "the value of parameter {name} {reason}",
    "its type is {type}; on the command line, values that are not texts are written as JSON",
)
BAD_CONDITION = Issue(
    "PLAN-060",
    Kind.INPUT,
    "{what} cannot be read: {reason}",
    "write comparisons such as settings:a.b == true, with and, or, not, in and parentheses; or write it in YAQL, below yaql_exp",
)
BAD_CONDITION_VALUE = Issue(
    "PLAN-061",
    Kind.INPUT,
    "{what} cannot be evaluated: {reason}",
    "put ? after a path that may be missing; it is null then",
)
BAD_TASK_VALUE = Issue(
    "PLAN-056",
    Kind.INPUT,
    "task {task} cannot be used on {node}: {reason}",
    "correct the parameters of the task, or the expression or the data that gives them",
)
UNKNOWN_MODULE_TASK = Issue(
    "PLAN-057",
    Kind.INPUT,
    "task {task} names {name}, which no module of the environment has",
    "write MODULE::NAME for the file modules/MODULE/tasks/NAME, or MODULE for its task init",
)
PLACEHOLDER = Issue(
    "PLAN-058",
    Kind.INPUT,
    "task {task} has {name} in {field}; it is not replaced by anything",
    "declare a parameter of the plan, and use the variable $PT_name in the command, or yaql_exp for the whole value",
)
BAD_EXPRESSION = Issue(
    "PLAN-062",
    Kind.INPUT,
    "the {what} cannot be read{where}: {reason}",
    "correct the YAQL expression; strings stand in quotes, and what a mapping has is written $.key or $.get('key')",
)
EXPRESSION_FAILED = Issue(
    "PLAN-063",
    Kind.INPUT,
    "the {what} cannot be evaluated{where}: {reason}",
    "give the nodes this data, or write $.get('key', default) for what may be missing",
)
EXPRESSION_LIMIT = Issue(
    "PLAN-064",
    Kind.INPUT,
    "the {what} has reached a limit{where}: {reason}",
    "make the expression read less; docs/explanation/plan-values.md lists the limits",
)
EVALUATION_FAILED = Issue(
    "PLAN-065",
    Kind.UNAVAILABLE,
    "the expressions of the plan could not be evaluated: {reason}",
    "try again; precast server check shows whether processes can be confined on this machine",
)
EVALUATION_LATE = Issue(
    "PLAN-066",
    Kind.UNAVAILABLE,
    "evaluating the expressions of the plan took more than {limit_s} s",
    "try again when the server has less to do, with fewer nodes, or with simpler expressions",
)
NO_YAQL = Issue(
    "PLAN-067",
    Kind.UNAVAILABLE,
    "the expressions of the plan cannot be evaluated: the package yaql is not installed",
    "pip install 'precast[server]'",
)

# Files of nodes, and made-up nodes: 080 to 089

NODE_TWICE = Issue(
    "PLAN-080",
    Kind.INPUT,
    "the node {name} is listed before, in {before}",
    "list each node once, with all its roles",
)
CYCLE_WITH_ALL_ROLES = Issue(
    "PLAN-081",
    Kind.INPUT,
    "on a node with all roles, {problem}",
    "this is an error only if such a node exists; list your nodes with --nodes-file",
)
