"""Compares what real Puppet and Precast make of the cases of a corpus, and groups what differs by its cause."""

import collections
import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from lab.corpus.cases import CorpusCase
from lab.differential import catalogs, comparison
from precast.base import digests
from precast.lang.functions.ruby import selection

SOME: Final = 60  # cases for one process of Puppet
LIMIT_S: Final = 1200
# Results, in the order of the report.
EQUAL, ORDER, DIFFERENT, ONLY_HERE, ONLY_PUPPET, BOTH, UNKNOWN = RESULTS = (
    "equal", "equal but for the order of application", "different", "fails only here", "fails only in Puppet", "fails in both",
    "no answer of Puppet",
)  # fmt: skip


class Outcome(NamedTuple):
    """What came of one case; `cause` groups it with others."""

    case: CorpusCase
    result: str
    cause: str = ""
    detail: str = ""
    is_of_ours: bool = False  # whether it becomes equal without our implementations of functions


class Comparison(NamedTuple):
    outcomes: list[Outcome]
    cpu_here_s: float
    cpu_puppet_s: float


def compare(place: Path, cases: Sequence[CorpusCase], module_paths: tuple[Path, ...]) -> Comparison:
    """Compile all cases twice, and compare. The CPU time is that of cases that both compile, warm."""
    for environment in {case.environment.name: case.environment for case in cases}.values():
        environment.write(place)
    puppets = _puppets(place, cases)
    ours = catalogs.PrecastAnswers(place, module_paths)
    outcomes, here, there = [], 0.0, 0.0
    for case in cases:
        started = time.process_time()
        own = ours.answer(case.environment.name, case.machine)
        spent = time.process_time() - started
        outcome = _outcome(case, puppets.get(case.id), own)
        if outcome.result == DIFFERENT:
            with without_our_functions():
                again = _outcome(case, puppets[case.id], ours.answer(case.environment.name, case.machine))
            outcome = outcome._replace(is_of_ours=again.result in (EQUAL, ORDER))
        if outcome.result in (EQUAL, ORDER, DIFFERENT):
            here, there = here + spent, there + puppets[case.id]["cpu_s"]
        outcomes.append(outcome)
    return Comparison(outcomes, here, there)


@contextlib.contextmanager
def without_our_functions() -> Iterator[None]:
    """Let the Ruby of modules run, also where an implementation of ours stands for it."""
    before = selection.native_for
    selection.native_for = lambda file: None
    try:
        yield
    finally:
        selection.native_for = before


def _puppets(place: Path, cases: Sequence[CorpusCase]) -> dict[str, catalogs.Answer]:
    """Puppet's answers, from the directory if they are there."""
    store = place / "answers"
    store.mkdir(exist_ok=True)
    answers: dict[str, catalogs.Answer] = {}
    missing: list[CorpusCase] = []
    for case in cases:
        file = store / f"{_key(case)}.json"
        if file.is_file():
            answers[case.id] = json.loads(file.read_text())
        else:
            missing.append(case)
    for some in _batches(missing):
        answers |= _ask(place, some)
        for case in some:
            if case.id in answers:
                (store / f"{_key(case)}.json").write_text(json.dumps(answers[case.id]))
    return answers


def _key(case: CorpusCase) -> str:
    return digests.of_value([case.id, case.code, case.machine.facts, case.environment.files["environment.conf"]])[:32]


def _batches(cases: list[CorpusCase]) -> Iterator[list[CorpusCase]]:
    """Cases in groups whose answers are kept at once, so that a run that is stopped continues."""
    for at in range(0, len(cases), SOME):
        yield cases[at : at + SOME]


def _ask(place: Path, cases: list[CorpusCase]) -> dict[str, catalogs.Answer]:
    """Ask one process of Puppet; if it ends, each module gets a process of its own."""
    requested = [(case.id, case.environment, case.machine) for case in cases]
    try:
        return catalogs.compile_with_puppet(place, requested, Path("/dev/null"), LIMIT_S)
    except (RuntimeError, subprocess.TimeoutExpired):
        names = {case.environment.name for case in cases}
        if len(names) == 1:
            return {}
    answers: dict[str, catalogs.Answer] = {}
    for name in sorted(names):
        answers |= _ask(place, [case for case in cases if case.environment.name == name])
    return answers


def _outcome(case: CorpusCase, puppets: catalogs.Answer | None, own: catalogs.Answer) -> Outcome:
    if puppets is None:
        return Outcome(case, UNKNOWN)
    if "crash" in own:
        return Outcome(case, ONLY_HERE, "crash", own["crash"])
    if puppets.get("error") and own.get("error"):
        return Outcome(case, BOTH, _plain(puppets["message"]), own["message"])
    if puppets.get("error"):
        return Outcome(case, ONLY_PUPPET, _plain(puppets["message"]), puppets["message"])
    if own.get("error"):
        return Outcome(case, ONLY_HERE, f"{own['code']} {_plain(own['message'])}", own["message"])
    found = [each for each in comparison.differences(puppets, own) if comparison.expected_by(each) is None]
    if not found:
        return Outcome(case, EQUAL)
    first = next((each for each in found if each.kind != "order"), found[0])
    result = ORDER if all(each.kind in ("order", "applied", "cycle") for each in found) else DIFFERENT
    return Outcome(case, result, _cause(first), str(first))


def _cause(difference: comparison.Difference) -> str:
    """The kind of a difference, without the names of the case."""
    place = re.sub(r"\[.*\]", "[…]", difference.place)
    return f"{difference.kind} {place}" if difference.kind in ("parameter", "resource") else difference.kind


def _plain(message: str) -> str:
    """A message without positions, names and values."""
    text = re.sub(r"\((?:file|location|line):.*?\)|\([^()]*:\d+\)$| on node \S+", "", message)
    return re.sub(r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\d+", "…", text).strip()[:160]


def as_data(result: Comparison) -> dict[str, Any]:
    return {
        "counts": collections.Counter(each.result for each in result.outcomes),
        "cpu_here_s": result.cpu_here_s, "cpu_puppet_s": result.cpu_puppet_s,
        "outcomes": [
            {"id": each.case.id, "declared": each.case.declared, "result": each.result, "cause": each.cause, "detail": each.detail}
            for each in result.outcomes
            if each.result != EQUAL
        ],
    }  # fmt: skip


def print_result(result: Comparison, shown: int) -> None:
    counts = collections.Counter(each.result for each in result.outcomes)
    compiled = counts[EQUAL] + counts[ORDER] + counts[DIFFERENT] + counts[ONLY_HERE]
    modules = {each.case.environment.name for each in result.outcomes}
    print(f"{len(result.outcomes)} cases of {len(modules)} modules; Puppet compiles {compiled}, of which")
    for name in (EQUAL, ORDER, DIFFERENT, ONLY_HERE):
        print(f"  {counts[name]:5} {100 * counts[name] / max(1, compiled):5.1f} % {name}")
    print(
        f"of the others {counts[BOTH]} fail in both, {counts[ONLY_PUPPET]} only in Puppet, {counts[UNKNOWN]} have no answer of Puppet"
    )
    print(f"wrong by a function of ours: {sum(each.is_of_ours for each in result.outcomes)}")
    ratio = result.cpu_puppet_s / result.cpu_here_s if result.cpu_here_s else 0.0
    print(
        f"CPU of these compiles: {result.cpu_here_s:.1f} s here, {result.cpu_puppet_s:.1f} s in Puppet, {ratio:.1f} times"
    )
    for name in (ONLY_HERE, DIFFERENT, ORDER, ONLY_PUPPET):
        _print_causes(name, [each for each in result.outcomes if each.result == name], shown)


def _print_causes(name: str, outcomes: list[Outcome], shown: int) -> None:
    if not outcomes:
        return
    print(f"\n{name}: {len(outcomes)}")
    causes = collections.Counter(each.cause for each in outcomes)
    for cause, count in causes.most_common(shown):
        example = next(each for each in outcomes if each.cause == cause)
        print(f"  {count:4} {cause}\n       {example.case.id} {example.case.declared}: {example.detail[:300]}")
