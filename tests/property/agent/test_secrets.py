"""Catalogs of real types with Sensitive values anywhere: no report, memory, difference or index entry contains the secret."""

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from precast.agent.applying.options import RunOptions
from precast.agent.applying.reporting.encoding import encode_report
from precast.agent.applying.run import RunRequest, apply
from precast.agent.state.store import LocalStore
from precast.base.clock import SystemClock
from precast.base.errors import PrecastError
from precast.catalog.body import Body, ResourceData
from precast.catalog.diff import compare_catalogs
from precast.store.query.resource_index import to_indexed_resource
from precast.types import catalogue
from precast.wire.reports.events import ResourceReport

SECRET = "s3cr3t-Vault-Value"
# Types whose changes stay below a directory of the test, with the parameters that put them there. `@` is that directory.
CONFINED: dict[str, dict[str, Any]] = {
    "file": {"path": "@/file"},
    "file_line": {"path": "@/lines", "line": "a = 1"},
    "ini_setting": {"path": "@/ini", "section": "main", "setting": "key", "value": "1"},
    "host": {"target": "@/hosts", "ip": "10.0.0.1"},
    "sshkey": {"target": "@/known_hosts", "type": "ssh-rsa", "key": "AAAA"},
    "concat_file": {"path": "@/joined"},
    "concat_fragment": {"target": "@/joined", "content": "part"},
    "notify": {},
    "exec": {"command": "/bin/sh -c 'env; echo ran; exit 1'", "logoutput": True},
    "promise": {"value": "x"},
    "schedule": {},
}
# Types that would change the machine are only looked at.
LOOKED_AT = ("user", "group", "package", "service", "cron", "mount", "ssh_authorized_key", "filebucket", "resources")
TYPES = (*CONFINED, *LOOKED_AT)
# The parameters of types that modules declare.
OF_MODULES = {
    "file_line": ("line", "match", "after", "encoding", "multiple"),
    "ini_setting": ("section", "setting", "value", "key_val_separator", "show_diff"),
    "concat_file": ("owner", "mode", "validate_cmd", "order", "format", "show_diff"),
    "concat_fragment": ("content", "order", "source"),
}


def _sensitive(value: Any) -> dict[str, Any]:
    return {"__ptype": "Sensitive", "__pvalue": value}


TEXTS = st.sampled_from(
    [SECRET, f"/bin/echo {SECRET}", f"A={SECRET}", f"first\n{SECRET}\n", f"/nowhere/{SECRET}", f"{SECRET}-0"]
)
LEAVES = TEXTS.map(_sensitive)
VALUES = st.one_of(
    LEAVES,
    st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            st.lists(inner | st.just("plain"), min_size=1, max_size=3),
            st.dictionaries(st.sampled_from(["a", "b"]), inner, min_size=1),
            st.builds(_sensitive, inner),
            st.builds(lambda part: {"__ptype": "Precast::Text", "__pvalue": ["x=", part]}, inner),
            st.builds(lambda part: {"__ptype": "Deferred", "name": "f", "arguments": [part]}, inner),
        ),
        max_leaves=4,
    ),
)


@st.composite
def resources(draw: st.DrawFn, number: int) -> ResourceData:
    kind = draw(st.sampled_from(TYPES))
    declared = catalogue.find(kind)
    known = OF_MODULES[kind] if declared is None else (*declared.properties, *declared.parameters)
    parameters: dict[str, Any] = dict(CONFINED.get(kind, {}))
    confined = {name for name, value in parameters.items() if isinstance(value, str) and value.startswith("@")}
    names = sorted({*known, "loglevel", "audit"} - confined - {"provider", "user"})
    if kind not in LOOKED_AT:
        names = [
            name for name in names if name not in ("backup", "force", "recurse", "purge", "ensure", "target", "source")
        ]
    secret_names = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)):
        if draw(st.booleans()):
            parameters[name] = draw(TEXTS)
            secret_names.append(name)
        else:
            parameters[name] = draw(VALUES)
    if draw(st.booleans()) and kind == "file":
        parameters["validate_cmd"] = "/bin/cat % >&2; exit 1"
    if draw(st.booleans()):
        parameters.setdefault("audit", "all")
    title = "::".join(part.capitalize() for part in kind.split("::"))
    return ResourceData(title, f"r{number}", parameters, (kind,), sensitive_parameters=tuple(secret_names))


BODIES = st.integers(1, 5).flatmap(lambda count: st.tuples(*(resources(number) for number in range(count))))


def _single_lines(data: Any) -> set[str]:
    """The secret texts of one line in a catalog."""
    if isinstance(data, dict | list):
        parts = data.values() if isinstance(data, dict) else data
        return {text for part in parts for text in _single_lines(part)}
    return {data} if isinstance(data, str) and SECRET in data and "\n" not in data else set()


def _place(data: Any, directory: str) -> Any:
    if isinstance(data, dict):
        return {name: _place(value, directory) for name, value in data.items()}
    if isinstance(data, list):
        return [_place(item, directory) for item in data]
    return data.replace("@", directory) if isinstance(data, str) and data.startswith("@") else data


def _call(name: str, arguments: list[Any]) -> Any:
    """A function that gives its argument back without the Sensitive around it."""
    value = arguments[0]
    while isinstance(value, dict) and value.get("__ptype") == "Sensitive":
        value = value["__pvalue"]
    return value


def _run(body: Body, directory: Path, is_noop: bool) -> str:
    reports: list[ResourceReport] = []
    request = RunRequest(body, None, root=Path("/"), state=directory / "state", call=_call)
    try:
        apply(request, RunOptions(is_noop=is_noop), reports.append)
    except PrecastError as error:  # such as a cycle of the resources' order
        return f"{error.message} {error.hint}"
    told = "".join(encode_report(report).decode() + repr(report) for report in reports)
    store = LocalStore.open(directory / "state", lambda: "x", SystemClock())
    try:
        rows = repr(list(store.read("SELECT ref, state FROM resource_state")))
    finally:
        store.close()
    return told + rows


@given(BODIES)
def test_secret_is_in_no_report_memory_difference_or_index_entry(given_resources: tuple[ResourceData, ...]) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        # What is on the node already contains the same secrets.
        older = "".join(f"{text}\n" for text in _single_lines([resource.parameters for resource in given_resources]))
        for file in ("file", "lines", "ini", "hosts", "known_hosts", "joined"):
            (directory / file).write_text(f"older\n{older}")
        placed = tuple(
            msgspec.structs.replace(resource, parameters=_place(resource.parameters, name))
            for resource in given_resources
        )
        body = Body(placed, (), (), (), {})
        is_looked_at = any(resource.type.lower() in LOOKED_AT for resource in placed)
        told = _run(body, directory, is_noop=True)
        if not is_looked_at:
            told += _run(body, directory, is_noop=False)
        stripped = Body(tuple(msgspec.structs.replace(resource, parameters={}) for resource in placed), (), (), (), {})
        for before, after in ((None, body), (stripped, body), (body, stripped)):
            told += json.dumps(msgspec.to_builtins(compare_catalogs(before, after)))
        told += json.dumps(msgspec.to_builtins([to_indexed_resource(resource) for resource in placed]))
    assert SECRET not in told
