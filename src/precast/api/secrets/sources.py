"""Routes about the sources of secrets. None of them gives a value."""

from precast.api.http.routes import ENVIRONMENT, OPERATOR, VIEWER, Call, person, route
from precast.services.code import issues as code_issues
from precast.services.secrets.sources import issues
from precast.services.secrets.sources.service import SecretSourceService
from precast.wire.secrets.sources import (
    RefreshAnswer,
    SecretPolicyBody,
    SecretPolicyView,
    SecretSourceRow,
    SourceRefresh,
)

_POLICY = "/v1/environments/{environment}/secret-policy"


class SecretSourcesApi:
    """Handles the routes of secret sources."""

    def __init__(self, sources: SecretSourceService) -> None:
        self._sources = sources

    @route("GET", "/v1/secret-sources", VIEWER, "The sources of secrets and their state", list[SecretSourceRow])
    async def list_sources(self, call: Call) -> list[SecretSourceRow]:
        return await self._sources.list_sources()

    @route(
        "POST",
        "/v1/secret-sources/refreshes",
        OPERATOR,
        "Ask a source again for what nodes read, or all sources",
        RefreshAnswer,
        body=SourceRefresh,
        errors=(issues.NO_SOURCE,),
    )
    async def refresh(self, call: Call) -> RefreshAnswer:
        return await self._sources.refresh(call.body.source, call.actor)

    @route(
        "GET",
        _POLICY,
        person("viewer", ENVIRONMENT),
        "Whether a fact of a node may choose a secret in this environment",
        SecretPolicyView,
        errors=(code_issues.NO_ENVIRONMENT,),
    )
    async def show_policy(self, call: Call) -> SecretPolicyView:
        return await self._sources.show_policy(call.path["environment"])

    @route(
        "POST",
        _POLICY,
        person("admin", ENVIRONMENT),
        "Set whether a fact of a node may choose a secret in this environment",
        SecretPolicyView,
        body=SecretPolicyBody,
        errors=(issues.BAD_POLICY, code_issues.NO_ENVIRONMENT),
    )
    async def set_policy(self, call: Call) -> SecretPolicyView:
        return await self._sources.set_policy(call.path["environment"], call.body.by_facts, call.actor)
