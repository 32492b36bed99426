"""Routes about the rules that classify nodes, and about classifying nodes again."""

from precast.api.http.routes import ADMIN, OPERATOR, VIEWER, Call, route
from precast.api.nodes.nodes import TARGETS
from precast.services.identity import issues as identity_issues
from precast.services.issues import BAD_VALUE, UNPRINTABLE
from precast.services.nodes import issues as node_issues
from precast.services.nodes.rules import RuleService
from precast.wire.nodes.bodies import NodesAction, NodesActionResult, RuleBody, RuleRow


class RulesApi:
    """Handles the routes of classification rules."""

    def __init__(self, rules: RuleService) -> None:
        self._rules = rules

    @route("GET", "/v1/rules", VIEWER, "The rules that classify nodes", list[RuleRow])
    async def list_rules(self, call: Call) -> list[RuleRow]:
        return await self._rules.list_rules()

    @route(
        "POST",
        "/v1/rules/{number}",
        ADMIN,
        "Create or replace the rule with this number",
        RuleRow,
        body=RuleBody,
        errors=(
            *(node_issues.BAD_CLASSIFICATION, identity_issues.UNKNOWN_EXTENSION),
            *(node_issues.BAD_RULE, node_issues.CLASSIFICATION_TOO_LARGE, node_issues.NO_RULE),
        ),
    )
    async def put(self, call: Call) -> RuleRow:
        return await self._rules.put(_number(call), call.body, call.actor)

    @route("DELETE", "/v1/rules/{number}", ADMIN, "Remove a rule", RuleRow, errors=(node_issues.NO_RULE,))
    async def remove(self, call: Call) -> RuleRow:
        return await self._rules.remove(_number(call), call.actor)

    @route(
        "POST",
        "/v1/refreshes",
        OPERATOR,
        "Classify nodes again: by the rules at once, by the external node classifier soon",
        NodesActionResult,
        body=NodesAction,
        errors=(*TARGETS, BAD_VALUE, UNPRINTABLE),
    )
    async def refresh(self, call: Call) -> NodesActionResult:
        return await self._rules.refresh(call.body, call.actor)


def _number(call: Call) -> int:
    text = call.path["number"]
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise node_issues.NO_RULE.error(number=text[:80])
    return int(text)
