"""The page of the keys that a boot knows: written from the declarations of the modules."""

from collections.abc import Callable, Iterator, Sequence

from precast.boot.modules import registry
from precast.boot.modules.contract import Module
from precast.boot.modules.schema import Fields, Items, Table, ValueSchema
from precast.boot.modules.unsupported_keys import READ_ELSEWHERE, UNSUPPORTED
from precast.boot.userdata import expression_values

Tables = Callable[[Sequence[str], Sequence[Sequence[object]]], str]
_TITLE = "# Keys of user data\n"


def page(made_by: str, table: Tables) -> str:
    """The whole page."""
    return "\n".join([made_by, _TITLE, *_run(table), *_order(table), *_reported(table), *_templates()])


def _run(table: Tables) -> Iterator[str]:
    yield (
        "`#cloud-config` documents are read as cloud-init reads them. How to write them: [write user data](../howto/write-user-data.md).\n"
        "A value of another kind is left out with a warning that has its place, and the rest counts.\n"
    )
    yield "## Keys that run\n"
    rows = []
    for module in registry.list_modules():
        for key, shape in module.schema.items():
            rows.append((f"`{key}`", f"`{module.name}`", shape.name, _inner(shape)))
    yield table(("key", "module", "what it is", "keys within"), sorted(dict.fromkeys(rows)))
    yield f"Read before modules run: {', '.join(f'`{key}`' for key in sorted(READ_ELSEWHERE))}.\n"


def _inner(shape: ValueSchema) -> str:
    """The names below a key, as far as they are known."""
    if isinstance(shape, Fields):
        return ", ".join(f"`{name}`" for name in shape.fields)
    if isinstance(shape, Items | Table):
        return _inner(shape.of)
    return ", ".join(dict.fromkeys(text for each in getattr(shape, "schemas", ()) if (text := _inner(each))))


def _order(table: Tables) -> Iterator[str]:
    yield "## Modules\n"
    rows = [
        (f"`{module.name}`", module.stage.name.lower(), module.frequency.value, _after(module), ", ".join(module.locks))
        for module in registry.list_modules()
    ]
    yield table(("module", "stage", "once for each", "comes after", "locks"), rows)


def _after(module: Module) -> str:
    return ", ".join(f"`{each.module}`" for each in module.after)


def _reported(table: Tables) -> Iterator[str]:
    yield "## Keys that are reported, not run\n"
    yield table(("key", "what to do instead"), [(f"`{key}`", reason) for key, reason in sorted(UNSUPPORTED.items())])


def _templates() -> Iterator[str]:
    yield "## Templates\n"
    yield (
        "After `## template: jinja` in the first line: `{{ … }}`, `{% if %}`, `{% for %}`, `{% set %}`, `{% raw %}`, `{# … #}`,\n"
        "over `v1`, `ds` and the values of `v1` by their own names.\n"
    )
    for name, values in (
        ("Filters", expression_values.FILTERS),
        ("Tests", expression_values.TESTS),
        ("Methods", expression_values.METHODS),
    ):
        yield f"- {name}: {', '.join(f'`{each}`' for each in values)}."
    yield ""
