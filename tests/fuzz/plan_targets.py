"""Fuzz target for plans: files of strangers, which may include each other."""

from precast.plans.loading.documents import PlanText
from precast.plans.loading.loader import load_plan
from precast.plans.loading.problems import MAX_PROBLEMS
from tests.fuzz.target import FuzzTarget

_TASKS = b"""
- &base {id: web, type: shell, version: 2.1.0, role: ['/.*/'], parameters: {cmd: x, timeout: 5m, strategy: {amount: 30%}}}
- {<<: *base, id: db, requires: [web], cross-depends: [{name: /^w/, role: self, policy: any}, {name: {yaql_exp: $.x}}]}
- {id: g, type: group, tasks: [web], fault_tolerance: 2%}
- {id: up, type: upload_file, groups: db, parameters: {path: /x, data: {a: [1, 2.5, ~, yes]}, permissions: 0644}}
- {id: run, type: run_plan, requires: ['/w.*/'], condition: {yaql_exp: $.y}, parameters: {plan: other, with: {a: 1}}}
"""
_PLAN = b"""
name: shop
parameters: {version: {type: 'Pattern[/^[0-9]+$/]', default: '1'}}
tasks:
  - id: a
    type: manifest
    tags: [web]
    condition: settings:a.b == true and not 'x' in c:d
    parameters: {manifest: site.pp}
    test_pre: [{http: 'http://x/', status: [200]}, {tcp: 'h:80'}, {file: /x}, {fact: a, equals: b}]
    test_post: [{resource: 'Service[x]'}, {clean: {catalog: {tags: [a]}}}, {cmd: x, within: 1m}]
    inputs: {i: {task: b, key: c.d, role: [web]}}
    approval: true
    lost_after: 2h
"""
_OTHER = b"parameters: {a: {type: Integer}}\ntasks: [{id: x, type: stage}, {id: y, type: skipped, roles: web, requires: [x]}]"


def check_plan(data: bytes) -> None:
    """A plan is loaded or has errors, never both; each error has a place in its file, and loading it again gives the same."""
    text = data.decode("utf-8", "replace")
    files = {"fuzzed": text, "other": _OTHER.decode()}

    def find(name: str) -> list[PlanText] | None:
        return [PlanText(name, files[name])] if name in files else None

    loaded = load_plan([PlanText("fuzzed", text)], "fuzzed", find)
    assert (loaded.plan is None) == bool(loaded.errors)
    assert len(loaded.errors) <= MAX_PROBLEMS
    assert len(loaded.warnings) <= MAX_PROBLEMS
    lines = len(text.splitlines()) + 1
    for problem in (*loaded.errors, *loaded.warnings):
        at = problem.at
        assert at is None or at.file == "other" or (at.file == "fuzzed" and 1 <= at.line <= lines and at.column >= 1)
    assert load_plan([PlanText("fuzzed", text)], "fuzzed", find) == loaded


TARGETS = {"plans": FuzzTarget(check_plan, (_TASKS, _PLAN), ("precast.plans.loading",))}
