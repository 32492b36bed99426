"""Renders the API's reference for people: one HTML page made from the OpenAPI document, without scripts and without external files."""

import base64
import hashlib
import html
import json
from collections.abc import Iterator, Sequence
from typing import Any

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; color: #222; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; border-top: 1px solid #ccc; padding-top: 1rem; }
code, pre { font: 14px/1.45 ui-monospace, monospace; } pre { background: #f4f4f4; padding: .75rem; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; }
th { border-bottom: 1px solid #ccc; } nav li { list-style: none; } nav ul { padding: 0; } .method { font-weight: 700; }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #1b1b1b; } pre { background: #2a2a2a; } a { color: #8ab4f8; }
}
"""
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
# The policy allows our one style sheet and nothing else: no script, no frame, no form, no external file.
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


INTRODUCTION = (
    '<p>The server generates this page from the declarations of its routes. Programs read <a href="/v1/openapi.json">openapi.json</a> '
    "(OpenAPI 3.1). People send <code>Authorization: Bearer TOKEN</code>, nodes present their client certificate.</p>"
)


def render(document: dict[str, Any]) -> str:
    """The whole page for one of our OpenAPI documents."""
    operations = [
        (method.upper(), path, operation)
        for path, methods in sorted(document["paths"].items())
        for method, operation in methods.items()
    ]
    info = document["info"]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(info['title'])} API</title><style>{STYLE}</style></head><body>",
        f"<h1>{_text(info['title'])} API, version {_text(info['version'])}</h1>",
        INTRODUCTION,
        "<nav><h2>Operations</h2><ul>",
        *(
            f'<li><a href="#{_text(operation["operationId"])}"><code><span class="method">{method}</span> {_text(path)}</code></a> '
            f"{_text(operation['summary'])}</li>"
            for method, path, operation in operations
        ),
        "</ul></nav><main>",
        *(line for method, path, operation in operations for line in _operation(method, path, operation)),
        "<h2>Types</h2>",
        *(line for name, schema in sorted(document["components"]["schemas"].items()) for line in _schema(name, schema)),
        "</main></body></html>\n",
    ]
    return "\n".join(parts)


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f'<h2 id="{_text(operation["operationId"])}"><code><span class="method">{method}</span> {_text(path)}</code></h2>'
    yield f"<p>{_text(operation['summary'])}. {_text(operation.get('description', 'Needs no credentials.'))}</p>"
    if operation["parameters"]:
        rows = [
            (f"<code>{_text(parameter['name'])}</code>", f"in the {_text(parameter['in'])}")
            for parameter in operation["parameters"]
        ]
        yield _table(("parameter", "where"), rows)
    if "requestBody" in operation:
        yield f"<p>Takes {_content(operation['requestBody'])}.</p>"
    answers = [
        (_text(status), _content(answer) or "-", _text(answer["description"]))
        for status, answer in sorted(operation["responses"].items())
    ]
    yield _table(("status", "answer", "when"), answers)


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f'<h3 id="type-{_text(name)}"><code>{_text(name)}</code></h3>'
    yield f"<p>{_text(schema.get('description', ''))}</p>"
    yield f"<pre>{_text(json.dumps({key: value for key, value in schema.items() if key != 'description'}, indent=2))}</pre>"


def _content(holder: dict[str, Any]) -> str:
    """The media types of a body, each with a link to its schema."""
    return ", ".join(
        f"<code>{_text(media)}</code> {_type(content['schema'])}"
        for media, content in holder.get("content", {}).items()
    )


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = _text(schema["$ref"].rsplit("/", 1)[1])
        return f'<a href="#type-{name}"><code>{name}</code></a>'
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    return f"<code>{_text(schema.get('type', 'any'))}</code>"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{title}</th>" for title in heads)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _text(value: object) -> str:
    return html.escape(str(value))
