"""Rules: they classify the nodes whose certificate matches a condition. The first matching rule, by number, decides.

A changed rule may concern every node. The worker that claims the work item applies the rules to all nodes in batches. If it is
interrupted, the next worker starts again; nodes that are already classified by the rules are not changed.
"""

from collections.abc import Sequence

import msgspec

from precast.services import texts
from precast.services.identity import extensions
from precast.services.nodes import issues
from precast.services.nodes.classification import MAX_RULES, Classifier, check, is_expression
from precast.services.query.targets import TargetService
from precast.services.queue_worker import run_worker
from precast.services.work_kinds import RECLASSIFY
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.nodes.classification import Classifications, ClassificationValues, Rule
from precast.store.nodes.nodes import Fleet, Node
from precast.store.queue.kinds import Claim
from precast.store.queue.queue import WorkQueue
from precast.wire.nodes.bodies import NodesAction, NodesActionResult, RuleBody, RuleRow
from precast.wire.query.patterns import BadPattern, Pattern

BATCH = 100
LEASE_S = 60.0
MAX_NUMBER = 1_000_000
MAX_FORM_CHARS = 253
ALL = "all"


class RuleService:
    """Stores the rules and applies them to nodes."""

    def __init__(
        self,
        database: Database,
        fleet: Fleet,
        sources: Classifications,
        classifier: Classifier,
        targets: TargetService,
        work: WorkQueue,
        audit: AuditLog,
    ) -> None:
        self._database = database
        self._fleet = fleet
        self._sources = sources
        self._classifier = classifier
        self._targets = targets
        self._work = work
        self._audit = audit

    async def list_rules(self) -> list[RuleRow]:
        """List all rules in the order in which they are tried."""
        return [_row(rule) for rule in await self._database.read(self._sources.list_rules, MAX_RULES)]

    async def put(self, number: int, body: RuleBody, actor: str) -> RuleRow:
        """Store a rule under its number. Raises InputError NODE-002, NODE-005 to NODE-007, AUTH-004."""
        values = ClassificationValues(body.environment, body.role, body.classes, body.parameters)
        rule = Rule(number, body.name, body.extensions, values, actor)
        check_rule(rule)
        await self._database.write(self._put, rule, actor)
        return _row(rule)

    async def remove(self, number: int, actor: str) -> RuleRow:
        """Remove a rule. Raises NotFoundError NODE-008."""
        return _row(await self._database.write(self._remove, number, actor))

    async def refresh(self, body: NodesAction, actor: str) -> NodesActionResult:
        """Apply the rules to nodes now and enqueue questions to the external node classifier; returns the nodes concerned."""
        texts.check("the reason", body.why)
        resolved = await self._targets.resolve(body.nodes)
        changed: list[str] = []
        for start in range(0, len(resolved.names), BATCH):
            batch = resolved.names[start : start + BATCH]
            changed += await self._database.write(self._refresh, batch, body.why, actor)
        return NodesActionResult(changed, resolved.rests_on_claims)

    async def work_off(self, owner: str) -> int:
        """Apply the rules to all nodes if they have changed; returns the number of nodes."""
        count = 0
        for claim in await self._work.claim(RECLASSIFY.name, owner, limit=1, lease_s=LEASE_S):
            count += await self._apply_to_all(claim)
        return count

    async def run(self, owner: str) -> None:
        """Process work items for ever. Cancelling is safe: a claimed item becomes free when its lease expires."""
        await run_worker(self._database, lambda: self.work_off(owner), RECLASSIFY)

    async def _apply_to_all(self, claim: Claim) -> int:
        after, count = "", 0
        while page := await self._fleet.list(after, BATCH):
            await self._database.write(self._apply_to_page, page)
            after = page[-1].name
            count += len(page)
            if not await self._work.extend(claim, LEASE_S):
                return count
        await self._work.complete(claim)
        return count

    def _apply_to_page(self, page: Sequence[Node]) -> Transaction[None]:
        rules = yield from self._sources.list_rules(MAX_RULES)
        for node in page:
            yield from self._classifier.apply_rules(node.name, node.extensions, rules)

    def _refresh(self, names: Sequence[str], why: str, actor: str) -> Transaction[list[str]]:
        rules = yield from self._sources.list_rules(MAX_RULES)
        changed = []
        for name in names:
            node = yield from self._fleet.find(name)
            if node is None:
                continue
            is_changed = yield from self._classifier.apply_rules(name, node.extensions, rules)
            is_asked = yield from self._classifier.enqueue_enc(name)
            yield from self._audit.add(actor, "node.refresh", name, why=why)
            if is_changed or is_asked:
                changed.append(name)
        return changed

    def _put(self, rule: Rule, actor: str) -> Transaction[None]:
        known = yield from self._sources.list_rules(MAX_RULES)
        if len(known) >= MAX_RULES and all(other.number != rule.number for other in known):
            raise issues.BAD_RULE.error(reason=f"there are already {MAX_RULES} rules")
        yield from self._sources.put_rule(rule)
        yield from self._work.enqueue_item(RECLASSIFY.name, ALL, b"")
        yield from self._audit.add(actor, "rule.set", str(rule.number), **msgspec.to_builtins(_body(rule)))

    def _remove(self, number: int, actor: str) -> Transaction[Rule]:
        rules = yield from self._sources.list_rules(MAX_RULES)
        removed = next((rule for rule in rules if rule.number == number), None)
        if removed is None:
            raise issues.NO_RULE.error(number=number)
        yield from self._sources.delete_rule(number)
        yield from self._work.enqueue_item(RECLASSIFY.name, ALL, b"")
        yield from self._audit.add(actor, "rule.remove", str(number), **msgspec.to_builtins(_body(removed)))
        return removed


def check_rule(rule: Rule) -> None:
    """Raises InputError NODE-002, NODE-005, NODE-006, AUTH-004."""
    check(rule.values)
    extensions.check(rule.extensions)
    if not 0 < rule.number <= MAX_NUMBER:
        raise issues.BAD_RULE.error(reason=f"its number is not from 1 to {MAX_NUMBER}")
    if rule.values.is_empty:
        raise issues.BAD_RULE.error(reason="it sets nothing for the nodes that match")
    for form in [*rule.extensions.values(), *([rule.name] if rule.name is not None else [])]:
        _check_form(form)


def _check_form(form: str) -> None:
    if not form or len(form) > MAX_FORM_CHARS or not form.isprintable():
        raise issues.BAD_RULE.error(reason=f"{form[:80]!r} is not a valid pattern")
    if is_expression(form):
        try:
            Pattern(form[1:-1])
        except BadPattern as bad:
            raise issues.BAD_RULE.error(reason=f"{form[:80]} is not a valid expression: {bad.reason}") from None


def _body(rule: Rule) -> RuleBody:
    saying = rule.values
    return RuleBody(rule.name, rule.extensions, saying.environment, saying.role, saying.classes, saying.parameters)


def _row(rule: Rule) -> RuleRow:
    return RuleRow(rule.number, _body(rule), rule.created_by, rule.created_at)
