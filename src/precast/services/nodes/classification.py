"""What a node is: its environment, role, classes and parameters, from everybody who says something about it.

An operator's word counts before a rule's, and a rule's before the external classifier's. Environment and role are one value
each: the first who says one decides. Classes and parameters add up: of one class, or one parameter, the first who names it
decides. Whenever what follows from all this changes, the question whether the node needs another catalog is asked in the same
transaction.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from precast.base import canonical
from precast.services import issues
from precast.services.code import issues as more_issues
from precast.services.work_kinds import ASK_ENC, DECIDE
from precast.store.engine.query import Transaction
from precast.store.nodes.classification import ENC, OPERATOR, RULES_SOURCE, Classifications, Rule, Saying
from precast.store.nodes.classification import Said as SourceSaid
from precast.store.nodes.nodes import Fleet
from precast.store.nodes.nodes import Said as NodeSaid
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

Change = dict[str, dict[str, Any]]


def combine(said: Sequence[SourceSaid]) -> Saying:
    """What follows from what all sources say."""
    by_source = {one.source: one.saying for one in said}
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}
    environment = role = None
    for saying in (by_source[source] for source in PRECEDENCE if source in by_source):
        environment = saying.environment if environment is None else environment
        role = saying.role if role is None else role
        classes = {**saying.classes, **classes}
        parameters = {**saying.parameters, **parameters}
    return Saying(environment, role, classes, parameters)


def check(saying: Saying) -> None:
    """Raises InputError NODE-002 or NODE-005 for what cannot be said of a node."""
    for what, value, form in (("environment", saying.environment, _ENVIRONMENT), ("role", saying.role, _CLASS)):
        if value is not None and (len(value) > 200 or not form.fullmatch(value)):
            raise issues.BAD_CLASSIFICATION.error(what=what, value=repr(value[:80]))
    for name, parameters in saying.classes.items():
        if len(name) > 200 or not _CLASS.fullmatch(name):
            raise issues.BAD_CLASSIFICATION.error(what="class", value=repr(name[:80]))
        _check_names(f"a parameter of {name}", parameters)
    _check_names("a parameter", saying.parameters)
    size = len(canonical.encode([saying.classes, saying.parameters]))
    if size > MAX_BYTES:
        raise more_issues.TOO_MUCH_SAID.error(size=size, limit=MAX_BYTES)


def _check_names(what: str, parameters: Mapping[str, Any]) -> None:
    for name in parameters:
        if not _VARIABLE.fullmatch(name):
            raise issues.BAD_CLASSIFICATION.error(what=what, value=repr(name[:80]))


def first_match(rules: Sequence[Rule], certname: str, extensions: Mapping[str, str]) -> Rule | None:
    """The first rule that fits what a node's certificate says. Facts are not asked: a node could invent them."""
    return next((rule for rule in rules if fits(rule, certname, extensions)), None)


def fits(rule: Rule, certname: str, extensions: Mapping[str, str]) -> bool:
    if rule.name is not None and not _name_fits(rule.name, certname):
        return False
    return all(name in extensions and _name_fits(form, extensions[name]) for name, form in rule.extensions.items())


def _name_fits(form: str, text: str) -> bool:
    if is_expression(form):
        return _pattern(form).matches(text)
    return matches(form, text)


def is_expression(form: str) -> bool:
    return len(form) > 2 and form[0] == form[-1] == "/"


@functools.lru_cache(maxsize=MAX_RULES)
def _pattern(form: str) -> Pattern:
    """Of linear time: whoever writes a rule must not be able to hold the server up."""
    return Pattern(form[1:-1])


class Classifier:
    """Writes down what is said, and what follows from it. All methods are units, for the transaction of the deed."""

    def __init__(self, fleet: Fleet, said: Classifications, work: WorkQueue, *, has_enc: bool = False) -> None:
        self._fleet = fleet
        self._said = said
        self._work = work
        self._has_enc = has_enc

    def setting(self, node: str, values: Classification) -> Transaction[Change]:
        """An operator says something; what it was before and is now, as far as that changed."""
        sayings = {one.source: one.saying for one in (yield from self._said.said(node))}
        before = msgspec.to_builtins(sayings.get(OPERATOR, Saying()))
        after = {**before, **{name: value or _NOTHING[name] for name, value in msgspec.to_builtins(values).items()}}
        changed = [name for name in before if before[name] != after[name]]
        if changed:
            yield from self._said.saying(node, OPERATOR, "", msgspec.convert(after, Saying))
            yield from self.settling(node)
        return {name: {"before": before[name], "after": after[name]} for name in changed}

    def settling(self, node: str) -> Transaction[bool]:
        """Write what follows from what all say; whether that is something else than before. If so, the node is decided anew."""
        now = yield from self._fleet.said(node)
        if now is None:
            return False
        wanted = combine((yield from self._said.said(node)))
        found = Saying(now.environment, now.role, now.classes, now.parameters)
        if found == wanted:
            return False
        yield from self._fleet.classifying(
            node, NodeSaid(wanted.environment, wanted.role, now.is_active, wanted.classes, wanted.parameters)
        )
        yield from self._work.enqueuing(DECIDE.name, node, b"")
        return True

    def admitting(self, node: str, extensions: Mapping[str, str]) -> Transaction[None]:
        """A node has a certificate with these extensions: rules are tried, the external classifier will be asked."""
        yield from self.ruling(node, extensions, (yield from self._said.rules(MAX_RULES)))
        if self._has_enc:
            yield from self._work.enqueuing(ASK_ENC.name, node, b"")

    def ruling(self, node: str, extensions: Mapping[str, str], rules: Sequence[Rule]) -> Transaction[bool]:
        """Hold a node against the rules; whether that changed what it is."""
        said = {one.source: one for one in (yield from self._said.said(node))}
        rule = first_match(rules, node, extensions)
        detail, saying = (f"rule {rule.number}", rule.saying) if rule is not None else ("", Saying())
        known = said.get(RULES_SOURCE)
        if (known.detail, known.saying) != (detail, saying) if known is not None else rule is not None:
            yield from self._said.saying(node, RULES_SOURCE, detail, saying)
        return (yield from self.settling(node))

    def asking(self, node: str) -> Transaction[bool]:
        """Have the external classifier asked about a node; False if this server has none."""
        if self._has_enc:
            yield from self._work.enqueuing(ASK_ENC.name, node, b"")
        return self._has_enc

    def answering(self, node: str, program: str, saying: Saying) -> Transaction[bool]:
        """The external classifier has answered; whether that changed what the node is."""
        if (yield from self._fleet.said(node)) is None:
            return False
        yield from self._said.saying(node, ENC, program, saying)
        return (yield from self.settling(node))

    def failing(self, node: str, program: str, problem: str) -> Transaction[None]:
        """The external classifier has not answered: its last answer stays, and the reason is shown."""
        if (yield from self._fleet.said(node)) is not None:
            yield from self._said.failing(node, ENC, program, problem)

    def forgetting(self, node: str) -> Transaction[None]:
        yield from self._said.forgetting(node)

    def sources(self, node: str) -> Transaction[list[SourceSaid]]:
        """What each source says, in the order in which they count."""
        found = yield from self._said.said(node)
        return sorted(found, key=lambda one: PRECEDENCE.index(one.source))


_NOTHING: dict[str, Any] = {"environment": None, "role": None, "classes": {}, "parameters": {}}
