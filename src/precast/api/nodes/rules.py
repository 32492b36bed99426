"""Routes about the rules of classification, and about asking anew."""

from precast.api.http.routes import Call, Route, Routes, person
from precast.api.nodes.nodes import TARGETS
from precast.services import issues
from precast.services.code import issues as more_issues
from precast.services.nodes.rules import RuleService
from precast.wire.nodes.bodies import NodesDeed, NodesDone, RuleBody, RuleRow


class RulesApi:
    """Joins the rules to their routes."""

    def __init__(self, rules: RuleService) -> None:
        self._rules = rules

    def declare(self, routes: Routes) -> None:
        for route in (
            Route("GET", "/v1/rules", self.list, person("viewer"), "The rules that say what nodes are", list[RuleRow]),
            Route(
                "POST",
                "/v1/rules/{number}",
                self.put,
                person("admin"),
                "Put a rule in the place of this number",
                RuleRow,
                body=RuleBody,
                errors=(
                    *(issues.BAD_CLASSIFICATION, issues.UNKNOWN_EXTENSION),
                    *(more_issues.BAD_RULE, more_issues.TOO_MUCH_SAID, more_issues.NO_RULE),
                ),
            ),
            Route(
                "DELETE",
                "/v1/rules/{number}",
                self.remove,
                person("admin"),
                "Remove a rule",
                RuleRow,
                errors=(more_issues.NO_RULE,),
            ),
            Route(
                "POST",
                "/v1/refreshes",
                self.refresh,
                person("operator"),
                "Find out anew what nodes are: by the rules now, by the external classifier soon",
                NodesDone,
                body=NodesDeed,
                errors=(*TARGETS, issues.BAD_VALUE, issues.UNPRINTABLE),
            ),
        ):
            routes.add(route)

    async def list(self, call: Call) -> list[RuleRow]:
        return await self._rules.everything()

    async def put(self, call: Call) -> RuleRow:
        return await self._rules.put(_number(call), call.body, call.actor)

    async def remove(self, call: Call) -> RuleRow:
        return await self._rules.remove(_number(call), call.actor)

    async def refresh(self, call: Call) -> NodesDone:
        return await self._rules.refresh(call.body, call.actor)


def _number(call: Call) -> int:
    text = call.path["number"]
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise more_issues.NO_RULE.error(number=text[:80])
    return int(text)
