"""Routes about secrets: references and the state of keys. None of them gives a value."""

from precast.api.http.routes import ENVIRONMENT, VIEWER, Call, person, route
from precast.services.code import issues as code_issues
from precast.services.secrets import issues
from precast.services.secrets.views import SecretViews
from precast.wire.secrets.references import SecretKeysView, SecretRow, SecretView

_PATH = "/v1/environments/{environment}/secrets"
PAGE = 200


class SecretReferencesApi:
    """Handles the routes about references and keys."""

    def __init__(self, views: SecretViews) -> None:
        self._views = views

    @route(
        "GET",
        _PATH,
        person("viewer", ENVIRONMENT),
        "The secrets of an environment by reference, without their values",
        list[SecretRow],
        query=("after",),
        errors=(code_issues.NO_ENVIRONMENT, issues.NO_SECRET),
    )
    async def list_page(self, call: Call) -> list[SecretRow]:
        return await self._views.list_page(call.path["environment"], call.query.get("after", ""), PAGE)

    @route(
        "GET",
        f"{_PATH}/{{ref}}",
        person("viewer", ENVIRONMENT),
        "The parameters and nodes that have a secret",
        SecretView,
        errors=(code_issues.NO_ENVIRONMENT, issues.NO_SECRET),
    )
    async def show(self, call: Call) -> SecretView:
        return await self._views.show(call.path["environment"], call.path["ref"])

    @route("GET", "/v1/secret-keys", VIEWER, "The state of the keys of secrets, and of their rotation", SecretKeysView)
    async def show_keys(self, call: Call) -> SecretKeysView:
        return await self._views.show_keys()
