"""Rules: what is said of nodes whose certificate fits a condition. The first that fits, by number, says it.

A changed rule concerns every node. They are gone through some at a time by whoever works the queue off; who is cut off begins
again, and nodes that are as the rules want them are left alone.
"""

from collections.abc import Sequence

import msgspec

from precast.services import texts
from precast.services.code import issues as issues
from precast.services.identity import extensions
from precast.services.nodes.classification import MAX_RULES, Classifier, check, is_expression
from precast.services.query.targets import TargetService
from precast.services.work_kinds import RECLASSIFY
from precast.services.working import keep_working
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.nodes.classification import Classifications, Rule, Saying
from precast.store.nodes.nodes import Fleet, Node
from precast.store.queue.kinds import Claim
from precast.store.queue.queue import WorkQueue
from precast.wire.nodes.bodies import NodesDeed, NodesDone, RuleBody, RuleRow
from precast.wire.query.patterns import BadPattern, Pattern

BATCH = 100
LEASE_S = 60.0
MAX_NUMBER = 1_000_000
MAX_FORM_CHARS = 253
ALL = "all"


class RuleService:
    """Keeps the rules, and nodes to them."""

    def __init__(
        self,
        database: Database,
        fleet: Fleet,
        said: Classifications,
        classifier: Classifier,
        targets: TargetService,
        work: WorkQueue,
        audit: AuditLog,
    ) -> None:
        self._database = database
        self._fleet = fleet
        self._said = said
        self._classifier = classifier
        self._targets = targets
        self._work = work
        self._audit = audit

    async def everything(self) -> list[RuleRow]:
        """All rules, in the order in which they are tried."""
        return [_row(one) for one in await self._database.read(self._said.rules, MAX_RULES)]

    async def put(self, number: int, body: RuleBody, actor: str) -> RuleRow:
        """A rule in the place of its number. Raises InputError NODE-002, NODE-005 to NODE-007, AUTH-004."""
        saying = Saying(body.environment, body.role, body.classes, body.parameters)
        rule = Rule(number, body.name, body.extensions, saying, actor)
        check_rule(rule)
        await self._database.write(self._putting, rule, actor)
        return _row(rule)

    async def remove(self, number: int, actor: str) -> RuleRow:
        """Raises NotFoundError NODE-008."""
        return _row(await self._database.write(self._removing, number, actor))

    async def refresh(self, body: NodesDeed, actor: str) -> NodesDone:
        """Hold nodes against the rules now, and have the external classifier asked; those that changed, or will be asked."""
        texts.check("the reason", body.why)
        resolved = await self._targets.names(body.nodes)
        touched: list[str] = []
        for at in range(0, len(resolved.names), BATCH):
            touched += await self._database.write(self._refreshing, resolved.names[at : at + BATCH], body.why, actor)
        return NodesDone(touched, resolved.rests_on_claims)

    async def work_off(self, owner: str) -> int:
        """Hold all nodes against the rules, if these changed; how many nodes that were."""
        count = 0
        for claim in await self._work.claim(RECLASSIFY.name, owner, limit=1, lease_s=LEASE_S):
            count += await self._go_through(claim)
        return count

    async def run(self, owner: str) -> None:
        """Work off what comes, for ever. Cancelling is safe: what was claimed is anyone's when its lease ends."""
        await keep_working(self._database, lambda: self.work_off(owner), RECLASSIFY)

    async def _go_through(self, claim: Claim) -> int:
        after, count = "", 0
        while page := await self._fleet.list(after, BATCH):
            await self._database.write(self._ruling, page)
            after = page[-1].name
            count += len(page)
            if not await self._work.extend(claim, LEASE_S):
                return count
        await self._work.complete(claim)
        return count

    def _ruling(self, page: Sequence[Node]) -> Transaction[None]:
        rules = yield from self._said.rules(MAX_RULES)
        for node in page:
            yield from self._classifier.ruling(node.name, node.extensions, rules)

    def _refreshing(self, names: Sequence[str], why: str, actor: str) -> Transaction[list[str]]:
        rules = yield from self._said.rules(MAX_RULES)
        touched = []
        for name in names:
            node = yield from self._fleet.showing(name)
            if node is None:
                continue
            is_other = yield from self._classifier.ruling(name, node.extensions, rules)
            is_asked = yield from self._classifier.asking(name)
            yield from self._audit.adding(actor, "node.refresh", name, why=why)
            if is_other or is_asked:
                touched.append(name)
        return touched

    def _putting(self, rule: Rule, actor: str) -> Transaction[None]:
        known = yield from self._said.rules(MAX_RULES)
        if len(known) >= MAX_RULES and all(one.number != rule.number for one in known):
            raise issues.BAD_RULE.error(reason=f"there are {MAX_RULES} rules already")
        yield from self._said.putting(rule)
        yield from self._work.enqueuing(RECLASSIFY.name, ALL, b"")
        yield from self._audit.adding(actor, "rule.set", str(rule.number), **msgspec.to_builtins(_body(rule)))

    def _removing(self, number: int, actor: str) -> Transaction[Rule]:
        found = [one for one in (yield from self._said.rules(MAX_RULES)) if one.number == number]
        if not found:
            raise issues.NO_RULE.error(number=number)
        yield from self._said.removing(number)
        yield from self._work.enqueuing(RECLASSIFY.name, ALL, b"")
        yield from self._audit.adding(actor, "rule.remove", str(number), **msgspec.to_builtins(_body(found[0])))
        return found[0]


def check_rule(rule: Rule) -> None:
    """Raises InputError NODE-002, NODE-005, NODE-006, AUTH-004."""
    check(rule.saying)
    extensions.check(rule.extensions)
    if not 0 < rule.number <= MAX_NUMBER:
        raise issues.BAD_RULE.error(reason=f"its number is not from 1 to {MAX_NUMBER}")
    if rule.saying.is_empty:
        raise issues.BAD_RULE.error(reason="it says nothing about the nodes that fit")
    for form in [*rule.extensions.values(), *([rule.name] if rule.name is not None else [])]:
        _check_form(form)


def _check_form(form: str) -> None:
    if not form or len(form) > MAX_FORM_CHARS or not form.isprintable():
        raise issues.BAD_RULE.error(reason=f"{form[:80]!r} is no pattern")
    if is_expression(form):
        try:
            Pattern(form[1:-1])
        except BadPattern as bad:
            raise issues.BAD_RULE.error(reason=f"{form[:80]} is no expression: {bad.reason}") from None


def _body(rule: Rule) -> RuleBody:
    saying = rule.saying
    return RuleBody(rule.name, rule.extensions, saying.environment, saying.role, saying.classes, saying.parameters)


def _row(rule: Rule) -> RuleRow:
    return RuleRow(rule.number, _body(rule), rule.created_by, rule.created_at)
