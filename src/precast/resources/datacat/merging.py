"""Merges the data of datacat's fragments, and makes of it the value of a parameter of another resource.

Hashes are merged deeply, arrays are appended to each other, and of other values the later one wins. The value is one key of the merged
data, or an ERB template over it, which the language's own subset of Ruby runs within its limits of steps and depth.
"""

from collections.abc import Iterable
from typing import Any

from precast.resources import issues_modules as issues
from precast.resources.contract import DesiredResource


def fill_target(
    collector: DesiredResource, fragments: Iterable[DesiredResource], target: DesiredResource
) -> DesiredResource:
    """The target with its parameter set. Raises InputError RESOURCE-241, and LANG-900 to LANG-907 for the template."""
    names = {collector.get("path", collector.title), *_as_list(collector.get("collects"))}
    ours = [fragment for fragment in fragments if names.intersection(_as_list(fragment.get("target")))]
    data: dict[Any, Any] = {}
    for fragment in sorted(ours, key=_order):
        given = fragment.get("data")
        if not isinstance(given, dict):
            raise issues.NO_DATA.error(ref=fragment.ref)
        data = _merge(data, given)
    field = str(collector.get("target_field"))
    key = collector.get("source_key")
    value = data.get(key) if key is not None else _render(collector, data)
    is_secret = bool(collector.secrets) or any(fragment.secrets for fragment in ours)
    secrets = target.secrets | {field} if is_secret else target.secrets
    parameters = {name: known for name, known in target.parameters.items() if name != field}
    if value is not None:
        parameters[field] = value
    return target._replace(parameters=parameters, secrets=secrets)


def _order(fragment: DesiredResource) -> str:
    return str(fragment.get("order", "50"))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _merge(before: dict[Any, Any], after: dict[Any, Any]) -> dict[Any, Any]:
    merged = dict(before)
    for key, value in after.items():
        former = merged.get(key)
        if isinstance(former, dict) and isinstance(value, dict):
            merged[key] = _merge(former, value)
        elif isinstance(former, list) and isinstance(value, list):
            merged[key] = former + value
        else:
            merged[key] = value
    return merged


def _render(collector: DesiredResource, data: dict[Any, Any]) -> str:
    from precast.base.spans import Source
    from precast.lang.ruby.erb import template
    from precast.lang.values.catalog_data import value_of

    source = Source(str(collector.get("template", "")), str(collector.get("template_body", "")))
    text: str = template.render(_DataHost(value_of(data)), None, source)
    return text


class _DataHost:
    """What a template of datacat sees: `@data`, and no function or variable of the manifest."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def variable(self, scope: Any, name: str) -> Any:
        return self._data if name == "data" else None

    def has_variable(self, scope: Any, name: str) -> bool:
        return name == "data"

    def variable_names(self, scope: Any) -> list[str]:
        return ["data"]

    def call_function(self, scope: Any, name: str, args: Any, block: Any = None) -> Any:
        raise issues.NO_TEMPLATE_FUNCTION.error(name=name)

    call_legacy_function = call_function

    def concrete(self, value: Any, span: Any) -> Any:
        return value

    def template_variables(self, scope: Any) -> dict[str, Any]:
        return {}

    def template_methods(self) -> dict[str, Any]:
        return {}

    def replace_value(self, scope: Any, before: Any, now: Any) -> None:
        """Nothing else sees the data that a template changes in place."""
