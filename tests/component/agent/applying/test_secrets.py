"""Sensitive values in all places of a catalog: neither a report nor the memory of a run contains one, whatever a handler says."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from precast.agent.applying.options import RunOptions
from precast.agent.applying.run import RunRequest, apply
from precast.agent.state.store import LocalStore
from precast.base.clock import SystemClock
from precast.catalog.body import DEFINED, Body, ResourceData
from precast.wire.reports.events import ResourceReport
from tests.unit.agent.applying import world

SECRET = "hunter2-Zq9!x"


def sensitive(value: Any) -> dict[str, Any]:
    return {"__ptype": "Sensitive", "__pvalue": value}


def resource(kind: str, title: str, /, *, secrets: tuple[str, ...] = (), **parameters: Any) -> ResourceData:
    name = "::".join(part.capitalize() for part in kind.split("::"))
    return ResourceData(name, title, parameters, (kind,), sensitive_parameters=secrets)


def run(
    tmp_path: Path, *resources: ResourceData, is_noop: bool = False, call: Any = None
) -> tuple[list[ResourceReport], str]:
    """Apply real types on this machine, with the agent's state in a directory of the test: the reports, and all that is stored."""
    reports: list[ResourceReport] = []
    body = Body(tuple(resources), (), (), (), {})
    request = RunRequest(body, None, root=Path("/"), state=tmp_path / "state", call=call)
    apply(request, RunOptions(is_noop=is_noop), reports.append)
    store = LocalStore.open(tmp_path / "state", lambda: "x", SystemClock())
    try:
        memory = repr(list(store.read("SELECT ref, state FROM resource_state")))
    finally:
        store.close()
    return reports, memory


def shown(reports: list[ResourceReport]) -> str:
    return json.dumps(msgspec.to_builtins(reports)) + "".join(map(repr, reports))


def assert_hidden(outcome: tuple[list[ResourceReport], str], *secrets: str) -> None:
    reports, memory = outcome
    for secret in secrets or (SECRET,):
        assert secret not in shown(reports)
        assert secret not in memory


@pytest.mark.parametrize("is_noop", [True, False])
def test_property_of_a_type_without_messages_of_its_own_is_redacted(tmp_path: Path, is_noop: bool) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(f"10.0.0.1 db # older {SECRET}\n")
    host = resource("host", "db", ip="10.0.0.1", target=str(hosts), comment=f"now {SECRET}", secrets=("comment",))
    outcome = run(tmp_path, host, is_noop=is_noop)
    assert outcome[0][0].events[0].property == "comment"
    assert_hidden(outcome)


def test_output_of_validate_cmd_does_not_show_sensitive_content(tmp_path: Path) -> None:
    file = resource(
        "file",
        str(tmp_path / "app.conf"),
        content=f"user = app\npassword = {SECRET}\n",
        validate_cmd="/bin/cat % && echo checked by /bin/cat && false",
        secrets=("content",),
    )
    outcome = run(tmp_path, file)
    assert outcome[0][0].status.value == "failed"
    assert_hidden(outcome)
    assert "user = app" not in shown(outcome[0])


def test_sensitive_validate_cmd_is_not_shown(tmp_path: Path) -> None:
    file = resource(
        "file", str(tmp_path / "f"), content="x", validate_cmd=f"/bin/false {SECRET} %", secrets=("validate_cmd",)
    )
    assert_hidden(run(tmp_path, file))


def test_output_of_a_command_with_a_sensitive_in_an_array_is_not_shown(tmp_path: Path) -> None:
    command = resource(
        "exec",
        "tell",
        command="/bin/sh -c 'echo it is $PASSWORD; false'",
        environment=["A=1", sensitive(f"PASSWORD={SECRET}")],
        logoutput=True,
    )
    assert_hidden(run(tmp_path, command))


@pytest.mark.parametrize("name", ["unless", "onlyif", "refresh", "cwd", "creates", "user"])
def test_any_sensitive_parameter_of_a_command_hides_what_it_says(tmp_path: Path, name: str) -> None:
    value = f"/bin/sh -c 'echo {SECRET}; exit 3'" if name in ("unless", "onlyif", "refresh") else f"/nowhere/{SECRET}"
    command = resource("exec", "say", command="/bin/false", logoutput=True, secrets=(name,), **{name: value})
    trigger = resource("notify", "trigger", notify="Exec[say]")
    assert_hidden(run(tmp_path, trigger, command))


def test_command_of_a_path_that_is_missing_does_not_show_a_sensitive_command(tmp_path: Path) -> None:
    one = resource("exec", "a", command=f"{SECRET} --now", secrets=("command",))
    two = resource("exec", "b", command=f"/nowhere/{SECRET}", secrets=("command",))
    three = resource("exec", "c", command=f"/bin/sleep 9 {SECRET}", timeout=0.05, tries=1, secrets=("command",))
    assert_hidden(run(tmp_path, one, two, three))


def test_sensitive_that_is_bound_late_is_redacted(tmp_path: Path) -> None:
    late = {"__ptype": "Deferred", "name": "sprintf", "arguments": ["pw=%s", sensitive(SECRET)]}
    file = tmp_path / "late"
    file.write_text(f"older {SECRET}\n")
    outcome = run(
        tmp_path,
        resource("file", str(file), content=late),
        resource("notify", "told", message=late),
        call=lambda name, arguments: arguments[0].replace("%s", arguments[1]["__pvalue"]),
    )
    assert file.read_text() == f"pw={SECRET}"
    assert_hidden(outcome)


def test_function_gets_what_another_one_has_unwrapped_and_the_result_is_still_secret(tmp_path: Path) -> None:
    def call(name: str, arguments: list[Any]) -> Any:
        if name == "unwrap":
            return arguments[0]["__pvalue"]
        assert isinstance(arguments[1], str), "as Puppet's sprintf would write a Sensitive: redacted"
        return arguments[0] % tuple(arguments[1:])

    def late(name: str, *arguments: Any) -> dict[str, Any]:
        return {"__ptype": "Deferred", "name": name, "arguments": list(arguments)}

    unwrapped = late("unwrap", sensitive(SECRET))
    text = {"__ptype": "Precast::Text", "__pvalue": ["pw=", unwrapped]}
    for number, value in enumerate((late("sprintf", "pw=%s", unwrapped), text, late("sprintf", "%s", text))):
        file = tmp_path / f"late{number}"
        file.write_text("older")
        outcome = run(tmp_path, resource("file", str(file), content=value), call=call)
        assert file.read_text() == f"pw={SECRET}"
        assert_hidden(outcome)


def test_error_of_a_function_called_with_a_sensitive_does_not_show_it(tmp_path: Path) -> None:
    from precast.resources import issues

    def fail(name: str, arguments: list[Any]) -> Any:
        raise issues.BAD_VALUE.error(name="x", value=arguments[0]["__pvalue"], wanted="another", type="file")

    late = {"__ptype": "Deferred", "name": "f", "arguments": [sensitive(SECRET)]}
    assert_hidden(run(tmp_path, resource("file", str(tmp_path / "f"), content=late), call=fail))


def test_audit_of_a_sensitive_property_shows_no_value(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(f"10.0.0.1 db # {SECRET}\n")
    host = resource("host", "db", ip="10.0.0.1", target=str(hosts), audit="all", comment=SECRET, secrets=("comment",))
    first = run(tmp_path, host)
    hosts.write_text(f"10.0.0.1 db # other-{SECRET}\n")
    audited = resource("host", "db", target=str(hosts), audit="all", comment=SECRET, secrets=("comment",))
    assert_hidden(first)
    assert_hidden(run(tmp_path, audited, is_noop=True))


def test_audited_password_of_an_account_is_never_shown(tmp_path: Path) -> None:
    reports, memory = run(tmp_path, resource("user", "root", audit="all"))
    password = next(
        line.split(":")[1] for line in Path("/etc/shadow").read_text().splitlines() if line.startswith("root:")
    )
    assert f"newly-recorded value '{password}'" not in shown(reports)
    assert f'"password":"{password}"' not in memory


def test_metaparameter_that_is_sensitive_is_not_shown(tmp_path: Path) -> None:
    assert_hidden(
        run(
            tmp_path,
            resource("notify", "a", schedule=SECRET, secrets=("schedule",)),
            resource("notify", "b", loglevel=sensitive(SECRET)),
            resource("notify", "c", name=SECRET, secrets=("name",)),
        )
    )


def test_backup_of_sensitive_content_does_not_show_its_digest(tmp_path: Path) -> None:
    import hashlib

    file = tmp_path / "f"
    file.write_text("1234")
    outcome = run(tmp_path, resource("file", str(file), content="5678", backup="puppet", secrets=("content",)))
    for text in ("1234", "5678"):
        assert_hidden(outcome, hashlib.sha256(text.encode()).hexdigest())


@pytest.mark.parametrize("form", ["{}", "json", "base64", "url", "shell", "hex", "line"])
def test_forms_of_a_secret_are_removed_from_what_a_handler_says(form: str) -> None:
    import base64
    import shlex
    from urllib.parse import quote

    secret = 'it\'s "quoted" & long/with:all+signs'
    text = {
        "{}": secret,
        "json": json.dumps(secret),
        "base64": base64.b64encode(secret.encode()).decode(),
        "url": quote(secret, safe=""),
        "shell": shlex.quote(secret),
        "hex": secret.encode().hex(),
        "line": secret,
    }[form]
    value = f"first line\n{secret}\nlast line" if form == "line" else secret
    ran = world.run(world.body(world.resource("cell", "a", value=text, other=sensitive(value))))
    told = shown(ran.reports)
    assert text not in told
    assert json.dumps(text)[1:-1] not in told


def test_secret_of_one_resource_is_removed_from_the_report_of_another(tmp_path: Path) -> None:
    """As where a command prints a file that contains it, or a class unwraps its parameter."""
    file = tmp_path / "app.conf"
    file.write_text("")
    define = msgspec.structs.replace(resource("app", "one", password=sensitive(SECRET)), kind=DEFINED)
    outcome = run(
        tmp_path,
        define,
        resource("file", str(file), content=f"password = {SECRET}\n"),
        resource("exec", f"/bin/cat {file}", logoutput=True),
    )
    assert file.read_text() == f"password = {SECRET}\n"
    assert_hidden(outcome)
    assert "password = [redacted]" in shown(outcome[0])


def test_short_sensitive_value_does_not_garble_other_texts() -> None:
    ran = world.run(
        world.body(world.resource("cell", "a", value="1"), world.resource("message", "b", other=sensitive("a"))),
        {"a": "0"},
    )
    assert ran.messages("Cell[a]") == ["value changed '0' to '1'"]


def test_lines_of_a_key_are_removed_from_the_report_of_another_resource(tmp_path: Path) -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END KEY-----\n"
    file = tmp_path / "bundle"
    file.write_text("")
    outcome = run(
        tmp_path,
        resource("file", str(tmp_path / "key"), content=key, secrets=("content",)),
        resource("file", str(file), content=f"# all keys\n{key}"),
    )
    assert_hidden(outcome, "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC")
    assert "# all keys" in shown(outcome[0])


def test_new_secret_is_a_change_of_the_catalog_and_a_drifted_one_is_corrective(tmp_path: Path) -> None:
    path = tmp_path / "f"

    def apply(content: str) -> list[bool]:
        reports, _ = run(tmp_path, resource("file", str(path), content=content, secrets=("content",)))
        return [event.corrective for report in reports for event in report.events]

    assert apply("first " + SECRET) == [False]
    assert apply("second " + SECRET) == [False]
    path.write_text("somebody has changed it")
    assert apply("second " + SECRET) == [True]


# What was secret in the catalog applied last is still on the node when the next one makes it plain, or removes it.


@pytest.mark.parametrize("kind", ["file", "removed", "file_line", "ini_setting", "host", "joined"])
@pytest.mark.parametrize("is_noop", [True, False])
def test_change_from_a_secret_to_plain_data_does_not_show_the_secret(tmp_path: Path, kind: str, is_noop: bool) -> None:
    import hashlib

    path = str(tmp_path / "f")
    (tmp_path / "f").write_text("password = older\n" if kind in ("file_line", "ini_setting") else "")
    secret = {"file": ("content",), "removed": ("content",), "file_line": ("line",), "joined": ("content",)}
    content = f"password = {SECRET}\n"
    plain = "password = none any more\n"

    def desired(is_secret: bool) -> list[ResourceData]:
        text = content if is_secret else plain
        hidden = secret.get(kind, ("value",)) if is_secret else ()
        if kind == "removed":
            gone = {"content": text} if is_secret else {"ensure": "absent"}
            return [resource("file", path, **gone, backup="puppet", secrets=hidden)]
        if kind == "file_line":
            return [resource("file_line", "x", path=path, line=text.strip(), match="^password", secrets=hidden)]
        if kind == "ini_setting":
            value = text.partition("= ")[2].strip()
            return [resource("ini_setting", "x", path=path, setting="password", value=value, secrets=hidden)]
        if kind == "host":
            hidden = ("comment",) if is_secret else ()
            return [resource("host", "db", ip="10.0.0.1", target=path, comment=text.strip(), secrets=hidden)]
        if kind == "joined":
            part = resource("concat_fragment", "p", target=path, content=text, secrets=hidden)
            return [resource("concat_file", path, path=path, backup="puppet"), part]
        return [resource("file", path, content=text, backup="puppet", secrets=hidden)]

    run(tmp_path, *desired(is_secret=True))
    assert SECRET in (tmp_path / "f").read_text()
    outcome = run(tmp_path, *desired(is_secret=False), is_noop=is_noop)
    (changed,) = [report for report in outcome[0] if report.events]
    assert changed.status.value == ("noop" if is_noop else "changed")
    assert_hidden(outcome)
    for text in (content, SECRET):
        assert hashlib.sha256(text.encode()).hexdigest() not in shown(outcome[0])
    if not is_noop and kind != "removed":
        # From now on the value is plain, and is shown.
        (tmp_path / "f").write_text((tmp_path / "f").read_text().replace("none any more", "drifted"))
        reports, _ = run(tmp_path, *desired(is_secret=False))
        assert "[redacted]" not in shown(reports)
