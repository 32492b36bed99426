"""Compares two catalogs, and tells which differences are expected.

Expected differences are rules in rules.yaml, each with its reason; a rule matches the kind of difference, never a particular case.
A difference that no rule covers is a fault.
"""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml  # type: ignore[import-untyped]

from tests.spec.lang.rows import same

RULES = Path(__file__).with_name("rules.yaml")
Answer = dict[str, Any]


class Difference(msgspec.Struct, frozen=True):
    """One difference: `kind` is the part of the catalog, `place` a reference or a parameter, `detail` both values."""

    kind: str
    place: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind} {self.place}: {self.detail}"


class Rule(msgspec.Struct, frozen=True):
    """An expected difference: all three patterns must match."""

    name: str
    reason: str
    kind: str
    place: str = ""
    detail: str = ""

    def covers(self, difference: Difference) -> bool:
        return (
            re.fullmatch(self.kind, difference.kind) is not None
            and re.search(self.place, difference.place) is not None
            and re.search(self.detail, difference.detail, re.DOTALL) is not None
        )


@functools.cache
def rules() -> tuple[Rule, ...]:
    documents = yaml.safe_load(RULES.read_text(encoding="utf-8")) or []
    return tuple(msgspec.convert(documents, list[Rule]))


def expected_by(difference: Difference) -> Rule | None:
    return next((rule for rule in rules() if rule.covers(difference)), None)


def unexpected(puppets: Answer, ours: Answer) -> list[Difference]:
    """The differences that no rule covers."""
    return [difference for difference in differences(puppets, ours) if expected_by(difference) is None]


def differences(puppets: Answer, ours: Answer) -> Iterator[Difference]:
    """All differences between Puppet's answer and Precast's."""
    if "crash" in ours:
        yield Difference("crash", "", ours["crash"])
    elif puppets.get("error") or ours.get("error"):
        if bool(puppets.get("error")) != bool(ours.get("error")):
            whose = "puppet" if puppets.get("error") else "precast"
            yield Difference("outcome", f"only {whose} fails", puppets.get("message") or ours.get("message") or "")
        elif not _places(puppets["message"]) & _places(ours["message"]):
            yield Difference("failure", "at another place", f"ours: {ours['message']}; Puppet's: {puppets['message']}")
    else:
        yield from _catalogs(puppets, ours)


def _places(message: str) -> set[tuple[str, str]]:
    """The files and lines that an error names: both must fail for the same reason, but the texts may differ."""
    forms = (r"\(file: (\S+), line: (\d+)", r"Filepath: (\S+)\s+Line: (\d+)", r"\((\S+):(\d+)\)$")
    places = [place for form in forms for place in re.findall(form, message)]
    return {(Path(path).name, line) for path, line in places}


def _catalogs(puppets: Answer, ours: Answer) -> Iterator[Difference]:
    theirs, own = (_by_reference(answer) for answer in (puppets, ours))
    for ref in theirs.keys() - own.keys():
        yield Difference("resource", ref, "only in Puppet's")
    for ref in own.keys() - theirs.keys():
        yield Difference("resource", ref, "only in ours")
    for ref in [ref for ref in theirs if ref in own]:
        yield from _resource(ref, theirs[ref], own[ref])
    if list(theirs) != list(own) and theirs.keys() == own.keys():
        yield Difference("sequence", "", _first_difference(list(theirs), list(own)))
    if puppets["classes"] != ours["classes"]:
        yield Difference("classes", "", _first_difference(puppets["classes"], ours["classes"]))
    for field in ("edges", "relationships"):
        wanted, got = ({tuple(pair) for pair in answer[field]} for answer in (puppets, ours))
        yield from (Difference(field, " -> ".join(pair), "only in Puppet's") for pair in sorted(wanted - got))
        yield from (Difference(field, " -> ".join(pair), "only in ours") for pair in sorted(got - wanted))
    yield from _order(puppets, ours)


def _by_reference(answer: Answer) -> dict[str, Answer]:
    return {f"{resource['type']}[{resource['title']}]": resource for resource in answer["resources"]}


def _resource(ref: str, theirs: Answer, own: Answer) -> Iterator[Difference]:
    wanted, got = theirs.get("parameters") or {}, own.get("parameters") or {}
    for name in sorted(wanted.keys() | got.keys()):
        if name not in got:
            yield Difference("parameter", f"{ref}/{name}", f"ours lacks it, Puppet's is {wanted[name]!r}")
        elif name not in wanted:
            yield Difference("parameter", f"{ref}/{name}", f"Puppet's lacks it, ours is {got[name]!r}")
        elif not same(wanted[name], got[name]):
            yield Difference("parameter", f"{ref}/{name}", f"ours is {got[name]!r}, Puppet's is {wanted[name]!r}")
    if set(theirs.get("tags", ())) != set(own.get("tags", ())):
        more, less = set(own["tags"]) - set(theirs["tags"]), set(theirs["tags"]) - set(own["tags"])
        yield Difference("tags", ref, f"ours has {sorted(more)} more and lacks {sorted(less)}")
    for name in ("exported", "virtual"):
        if bool(theirs.get(name)) != bool(own.get(name)):
            yield Difference(name, ref, f"ours is {bool(own.get(name))}")
    if sorted(theirs.get("sensitive_parameters", ())) != sorted(own.get("sensitive_parameters", ())):
        yield Difference("sensitive", ref, f"ours is {own.get('sensitive_parameters')}")


def _order(puppets: Answer, ours: Answer) -> Iterator[Difference]:
    """Compare the order; there is none if Puppet's own types refuse a value after the catalog is made."""
    if "order_error" in puppets:
        return
    if bool(puppets.get("cycle")) != bool(ours.get("cycle")):
        yield Difference("cycle", "", f"ours is {bool(ours.get('cycle'))}")
    elif puppets.get("order") != ours.get("order"):
        wanted, got = puppets.get("order") or [], ours.get("order") or []
        if sorted(wanted) != sorted(got):
            yield Difference(
                "applied", "", f"ours has {sorted(set(got) - set(wanted))} more, lacks {sorted(set(wanted) - set(got))}"
            )
        else:
            yield Difference("order", "", _first_difference(wanted, got))


def _first_difference(wanted: list[str], got: list[str]) -> str:
    pairs = enumerate(zip(wanted, got, strict=False))
    start = next((index for index, pair in pairs if pair[0] != pair[1]), min(len(wanted), len(got)))
    return f"at {start} of {len(wanted)}: ours {got[start : start + 3]}, Puppet's {wanted[start : start + 3]}"
