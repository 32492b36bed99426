"""Writes the steps of a plan as one shell script, which another deployment system runs on each node, level by level."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from shlex import quote

from precast.base.spans import visible
from precast.plans.views.commands import CATALOGS, ENVIRONMENT, MASTER, StepCommand
from precast.plans.views.descriptions import count
from precast.plans.views.steps import PlanSteps, Step, Tolerance

# Nodes that the list of a level names; of more, only the first and the count.
MOST_NAMES = 20
_USAGE = "usage: sh FILE NODE LEVEL [always]"
_FUNCTIONS = r"""
failed=0 result=0

# run WITHIN TIMEOUT CODES TEXT: runs a text, again until it succeeds for WITHIN seconds.
run() {
  deadline=$(($(date +%s) + $1))
  while :; do
    timeout "$2" /bin/sh -c "$4"
    code=$?
    case " $3 " in *" $code "*) return 0 ;; esac
    [ "$(date +%s)" -lt "$deadline" ] || return 1
    sleep 1
  done
}

# again RETRIES INTERVAL COMMAND…: runs a command until it succeeds, at most RETRIES times more.
again() {
  left=$1 interval=$2
  shift 2
  until "$@"; do
    [ "$left" -gt 0 ] || return 1
    left=$((left - 1))
    sleep "$interval"
  done
}

# cannot TEXT: a step without a command fails, and says why.
cannot() {
  echo "no command: $1" >&2
  return 1
}

# approved TASK QUESTION: fails unless APPROVED lists the task.
approved() {
  case " ${APPROVED-} " in *" $1 "*) return 0 ;; esac
  echo "a person must approve $1: $2 (then set APPROVED=\"$1\")" >&2
  return 1
}

# step KIND NAME FUNCTION: runs a step unless an earlier one has failed; always: in any case; careless: its failure does not count.
step() {
  [ "$1" = always ] || [ "$failed" = 0 ] || return 0
  echo "== $2"
  "$3" && return 0
  echo "failed: $2" >&2
  [ "$1" = careless ] || failed=1 result=1
}
"""


def write_script(steps: PlanSteps) -> str:
    """The text of the script."""
    functions = _Functions()
    cases = list(_write_cases(steps, functions))
    parts = [
        *_write_head(steps),
        f'export NODE="${{1:?{_USAGE}}}" LEVEL="${{2:?{_USAGE}}}" {ENVIRONMENT} {CATALOGS} {MASTER}',
        f': "${{{ENVIRONMENT}:=/etc/puppetlabs/code/environments/production}}"',
        _FUNCTIONS,
        *functions.lines,
        '[ "${3-}" = always ] && failed=1',
        'case "$LEVEL $NODE" in',
        *cases,
        '*) echo "$NODE has no steps in level $LEVEL" ;;',
        "esac",
        "exit $result",
    ]
    return "\n".join(parts) + "\n"


def _write_head(steps: PlanSteps) -> Iterator[str]:
    yield "#!/bin/sh"
    yield f"# The steps of the plan {_comment(steps.plan)}, for a system that runs commands on nodes. Written by `precast plan export`."
    yield "#"
    yield f"# {_USAGE}"
    yield "#"
    yield f"# For each level from 1 to {steps.levels}: run this file on each node that is listed below. Go on when all have ended with 0."
    yield "# After a failure, run the later levels with the word `always`: only what has to run whatever happened is run then."
    yield f"# Set {ENVIRONMENT}, the directory of the Puppet environment; {CATALOGS}, a directory with the catalog of each node as"
    yield f"# NODE.json; {MASTER}, the host that files are copied from; APPROVED, the tasks that a person has approved."
    yield "#"
    by_level: dict[int, dict[str, None]] = defaultdict(dict)
    for step in steps.steps:
        by_level[step.level][step.node] = None
    for level, nodes in sorted(by_level.items()):
        yield f"# level {level}: {_list_names(nodes)}"
    yield from _write_tolerances(steps.tolerances)


def _write_tolerances(tolerances: Iterable[Tolerance]) -> Iterator[str]:
    for group in tolerances:
        name = f"of the group {_comment(group.group)}" if group.group else "in no group"
        many = "any number" if group.tolerate is None else str(group.tolerate) if group.tolerate else "none"
        yield f"# of the {count(len(group.nodes), 'node')} {name}, {many} may fail before nothing else is started"


def _list_names(names: Iterable[str]) -> str:
    listed = [_comment(name) for name in names]
    more = f" and {len(listed) - MOST_NAMES} more" if len(listed) > MOST_NAMES else ""
    return " ".join(listed[:MOST_NAMES]) + more


def _write_cases(steps: PlanSteps, functions: "_Functions") -> Iterator[str]:
    by_place: dict[tuple[int, str], list[Step]] = defaultdict(list)
    for step in steps.steps:
        by_place[step.level, step.node].append(step)
    for (level, node), members in by_place.items():
        yield f"{quote(f'{level} {node}')})"
        for step in members:
            kind = "always" if step.is_always else "careless" if step.ignores_failure else "normal"
            yield f"  step {kind} {quote(visible(f'{step.task} on {step.node}'))} {functions.find(step)}"
        yield "  ;;"


class _Functions:
    """The functions of steps: nodes that do the same have the same function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[tuple[str, str], str] = {}

    def find(self, step: Step) -> str:
        """The name of the function of a step; it is added if there is none yet."""
        body = "\n".join(_write_body(step))
        name = self._names.get((step.task, body))
        if name is None:
            name = self._names[step.task, body] = f"step_{len(self._names) + 1}"
            self.lines += [f"# {line}" for line in _describe(step)]
            self.lines += [f"{name}() {{", body, "}", ""]
        return name


def _describe(step: Step) -> Iterator[str]:
    yield f"{_comment(step.task)} ({_comment(step.at.file)}:{step.at.line})"
    if step.waits_for:
        yield f"It waits for {_comment(', '.join(step.waits_for))}."
    if step.condition:
        yield f"It is meant to run only if: {_comment(step.condition)}"


def _write_body(step: Step) -> Iterator[str]:
    parts = [f"approved {quote(visible(step.task))} {quote(visible(step.approval))}"] if step.approval else []
    parts += [_write_command(test) for test in step.before]
    if step.work is not None:
        again = f"again {step.retries} {step.interval_s:g} " if step.retries and not step.work.obstacle else ""
        parts.append(again + _write_command(step.work))
    parts += [_write_command(test) for test in step.after]
    yield " &&\n".join(f"  {part}" for part in parts)


def _write_command(command: StepCommand) -> str:
    if command.obstacle:
        return f"cannot {quote(visible(command.obstacle))}"
    codes = " ".join(map(str, command.exit_codes))
    return f"run {command.within_s:.0f} {command.timeout_s:.0f} {quote(codes)} {quote(command.text)}"


def _comment(text: str) -> str:
    """A text on one line: nothing in it may end the comment."""
    return visible(" ".join(text.split()))
