"""Routes of exported resources. A token that is limited to some environments sees only their exports."""

from precast.api.http.routes import ADMIN, ENVIRONMENT, OWN, VIEWER, Call, person, route
from precast.services.code.issues import NO_ENVIRONMENT
from precast.services.exports import issues
from precast.services.exports.settings import ExportSettings
from precast.services.exports.views import ExportViews
from precast.wire.exports import ExportedRow, ExportedType, ExportLoop, ExportsSetting

_VIEWER = person("viewer", OWN)
_OF_ENVIRONMENT = person("viewer", ENVIRONMENT)
_SETTING = "/v1/environments/{environment}/exports"


class ExportsApi:
    """Handles the routes of exported resources."""

    def __init__(self, views: ExportViews, settings: ExportSettings) -> None:
        self._views, self._settings = views, settings

    @route(
        "GET",
        "/v1/exports",
        _VIEWER,
        "The types that nodes export, with counts",
        list[ExportedType],
        query=("environment",),
        errors=(NO_ENVIRONMENT,),
    )
    async def list_types(self, call: Call) -> list[ExportedType]:
        return await self._views.list_types(call.query.get("environment", ""), call.environments)

    @route(
        "GET",
        "/v1/exports/{type}",
        _VIEWER,
        "The exported resources of a type, by node",
        list[ExportedRow],
        query=("environment", "after"),
        errors=(NO_ENVIRONMENT,),
    )
    async def list_resources(self, call: Call) -> list[ExportedRow]:
        environment, after = call.query.get("environment", ""), call.query.get("after", "")
        return await self._views.list_resources(call.path["type"], environment, after, call.environments)

    @route(
        "GET",
        f"{_SETTING}/{{type}}/collectors",
        _OF_ENVIRONMENT,
        "The nodes that collect the exports of a type in an environment, by name",
        list[str],
        query=("after",),
    )
    async def list_collectors(self, call: Call) -> list[str]:
        return await self._views.list_collectors(
            call.path["type"], call.path["environment"], call.query.get("after", ""), call.environments
        )

    @route(
        "GET",
        "/v1/catalogs/loops",
        VIEWER,
        "The nodes whose catalogs are held back because they are part of a loop of exports",
        list[ExportLoop],
        query=("after",),
    )
    async def list_loops(self, call: Call) -> list[ExportLoop]:
        return await self._views.list_loops(call.query.get("after", ""))

    @route(
        "GET",
        _SETTING,
        _OF_ENVIRONMENT,
        "Which exports the nodes of an environment collect",
        ExportsSetting,
        errors=(NO_ENVIRONMENT,),
    )
    async def show_setting(self, call: Call) -> ExportsSetting:
        return await self._settings.show(call.path["environment"])

    # Not for the people of one environment: its nodes may then see the exports, and the secrets in them, of all others.
    @route(
        "POST",
        _SETTING,
        ADMIN,
        "Set which exports the nodes of an environment collect: released, staged, or everywhere",
        ExportsSetting,
        body=ExportsSetting,
        errors=(issues.BAD_SETTING, NO_ENVIRONMENT),
    )
    async def set(self, call: Call) -> ExportsSetting:
        return await self._settings.set(call.path["environment"], call.body.exports, call.actor)
