"""Classification: the environment, role, classes and parameters of a node, combined from several sources.

An operator's values take precedence over a rule's, and a rule's over the external node classifier's. Environment and role are single
values: the first source that has one decides. Classes and parameters are merged: for one class, or one parameter, the first source
that names it decides. When the combined values change, a decision whether the node needs a new catalog is enqueued in the same
transaction.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from precast.base import canonical
from precast.services.nodes import issues
from precast.services.work_kinds import ASK_ENC, DECIDE
from precast.store.engine.query import Transaction
from precast.store.nodes.classification import (
    ENC,
    OPERATOR,
    RULES_SOURCE,
    Classifications,
    ClassificationValues,
    Rule,
    SourceClassification,
)
from precast.store.nodes.nodes import Fleet, NodeClassification
from precast.store.queue.queue import WorkQueue
from precast.wire.identity.names import matches
from precast.wire.nodes.bodies import Classification
from precast.wire.query.patterns import Pattern

PRECEDENCE = (OPERATOR, RULES_SOURCE, ENC)
MAX_RULES = 1_000
MAX_BYTES = 64 * 1024
_ENVIRONMENT = re.compile(r"[a-z][a-z0-9_]{0,99}")
_CLASS = re.compile(r"[a-z][a-z0-9_]*(::[a-z][a-z0-9_]*)*")
_VARIABLE = re.compile(r"[a-z_][a-zA-Z0-9_]{0,199}")

# For each changed value, the value before and after.
ClassificationChange = dict[str, dict[str, Any]]


def combine(sources: Sequence[SourceClassification]) -> ClassificationValues:
    """Combine the values of all sources, by precedence."""
    by_source = {entry.source: entry.values for entry in sources}
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}
    environment = role = None
    for values in (by_source[source] for source in PRECEDENCE if source in by_source):
        environment = values.environment if environment is None else environment
        role = values.role if role is None else role
        classes = {**values.classes, **classes}
        parameters = {**values.parameters, **parameters}
    return ClassificationValues(environment, role, classes, parameters)


def check(values: ClassificationValues) -> None:
    """Raises InputError NODE-002 for an invalid name, NODE-005 if the values are too large."""
    for what, value, form in (("environment", values.environment, _ENVIRONMENT), ("role", values.role, _CLASS)):
        if value is not None and (len(value) > 200 or not form.fullmatch(value)):
            raise issues.BAD_CLASSIFICATION.error(what=what, value=repr(value[:80]))
    for name, parameters in values.classes.items():
        if len(name) > 200 or not _CLASS.fullmatch(name):
            raise issues.BAD_CLASSIFICATION.error(what="class", value=repr(name[:80]))
        _check_names(f"a parameter of {name}", parameters)
    _check_names("a parameter", values.parameters)
    size = len(canonical.encode([values.classes, values.parameters]))
    if size > MAX_BYTES:
        raise issues.CLASSIFICATION_TOO_LARGE.error(size=size, limit=MAX_BYTES)


def _check_names(what: str, parameters: Mapping[str, Any]) -> None:
    for name in parameters:
        if not _VARIABLE.fullmatch(name):
            raise issues.BAD_CLASSIFICATION.error(what=what, value=repr(name[:80]))


def find_rule(rules: Sequence[Rule], certname: str, extensions: Mapping[str, str]) -> Rule | None:
    """Find the first rule that matches a node's certificate. Facts are not considered, because a node could invent them."""
    return next((rule for rule in rules if is_match(rule, certname, extensions)), None)


def is_match(rule: Rule, certname: str, extensions: Mapping[str, str]) -> bool:
    """Whether a rule matches the name and the extensions of a certificate."""
    if rule.name is not None and not _is_text_match(rule.name, certname):
        return False
    return all(name in extensions and _is_text_match(form, extensions[name]) for name, form in rule.extensions.items())


def _is_text_match(form: str, text: str) -> bool:
    if is_expression(form):
        return _pattern(form).matches(text)
    return matches(form, text)


def is_expression(form: str) -> bool:
    """Whether a condition is a regular expression, written between slashes."""
    return len(form) > 2 and form[0] == form[-1] == "/"


@functools.lru_cache(maxsize=MAX_RULES)
def _pattern(form: str) -> Pattern:
    """Compile an expression that matches in linear time, so that the author of a rule cannot block the server."""
    return Pattern(form[1:-1])


class Classifier:
    """Stores the values of each source, and the combined values. All methods are parts of the caller's transaction."""

    def __init__(self, fleet: Fleet, sources: Classifications, work: WorkQueue, *, has_enc: bool = False) -> None:
        self._fleet = fleet
        self._sources = sources
        self._work = work
        self._has_enc = has_enc

    def set_by_operator(self, node: str, values: Classification) -> Transaction[ClassificationChange]:
        """Set the operator's values; returns the changed ones, before and after."""
        by_source = {entry.source: entry.values for entry in (yield from self._sources.list_sources(node))}
        before = msgspec.to_builtins(by_source.get(OPERATOR, ClassificationValues()))
        after = {**before, **{name: value or _EMPTY[name] for name, value in msgspec.to_builtins(values).items()}}
        changed = [name for name in before if before[name] != after[name]]
        if changed:
            yield from self._sources.set_source(node, OPERATOR, "", msgspec.convert(after, ClassificationValues))
            yield from self._update(node)
        return {name: {"before": before[name], "after": after[name]} for name in changed}

    def _update(self, node: str) -> Transaction[bool]:
        """Combine all sources; returns whether the combined values changed. If so, a decision about the node is enqueued."""
        current = yield from self._fleet.find_classification(node)
        if current is None:
            return False
        combined = combine((yield from self._sources.list_sources(node)))
        stored = ClassificationValues(current.environment, current.role, current.classes, current.parameters)
        if stored == combined:
            return False
        yield from self._fleet.set_classification(
            node,
            NodeClassification(
                combined.environment, combined.role, current.is_active, combined.classes, combined.parameters
            ),
        )
        yield from self._work.enqueue_item(DECIDE.name, node, b"")
        return True

    def admit(self, node: str, extensions: Mapping[str, str]) -> Transaction[None]:
        """Classify a node that has got a certificate with these extensions: apply the rules, and enqueue a question to the ENC."""
        yield from self.apply_rules(node, extensions, (yield from self._sources.list_rules(MAX_RULES)))
        yield from self.enqueue_enc(node)

    def apply_rules(self, node: str, extensions: Mapping[str, str], rules: Sequence[Rule]) -> Transaction[bool]:
        """Store the values of the first rule that matches a node; returns whether the combined values changed."""
        by_source = {entry.source: entry for entry in (yield from self._sources.list_sources(node))}
        rule = find_rule(rules, node, extensions)
        detail, values = (f"rule {rule.number}", rule.values) if rule is not None else ("", ClassificationValues())
        known = by_source.get(RULES_SOURCE)
        if (known.detail, known.values) != (detail, values) if known is not None else rule is not None:
            yield from self._sources.set_source(node, RULES_SOURCE, detail, values)
        return (yield from self._update(node))

    def enqueue_enc(self, node: str) -> Transaction[bool]:
        """Enqueue a question to the external node classifier; returns False if this server has none."""
        if self._has_enc:
            yield from self._work.enqueue_item(ASK_ENC.name, node, b"")
        return self._has_enc

    def store_enc_answer(self, node: str, program: str, values: ClassificationValues) -> Transaction[bool]:
        """Store an answer of the external node classifier; returns whether the combined values changed."""
        if (yield from self._fleet.find_classification(node)) is None:
            return False
        yield from self._sources.set_source(node, ENC, program, values)
        return (yield from self._update(node))

    def store_enc_failure(self, node: str, program: str, problem: str) -> Transaction[None]:
        """Store why the external node classifier did not answer; its last answer stays in effect."""
        if (yield from self._fleet.find_classification(node)) is not None:
            yield from self._sources.set_source_problem(node, ENC, program, problem)

    def delete(self, node: str) -> Transaction[None]:
        """Delete the values of all sources of a node."""
        yield from self._sources.delete_node(node)

    def list_sources(self, node: str) -> Transaction[list[SourceClassification]]:
        """List the values of each source, in the order of precedence."""
        sources = yield from self._sources.list_sources(node)
        return sorted(sources, key=lambda entry: PRECEDENCE.index(entry.source))


_EMPTY: dict[str, Any] = {"environment": None, "role": None, "classes": {}, "parameters": {}}
