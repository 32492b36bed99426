"""A look-only run with real types: what an author of an environment could try to run as root, or to learn from a report."""

import io
import json
import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from precast.agent.applying.options import RunOptions
from precast.agent.applying.run import RunRequest, apply
from precast.base.digests import of_bytes
from precast.catalog.body import Body, ResourceData
from precast.wire.reports.events import ResourceReport

SECRET = "hunter2-Zq9!x"
LOOK = RunOptions(is_noop=True, is_look_only=True)


def resource(kind: str, title: str, /, **parameters: Any) -> ResourceData:
    return ResourceData(kind.capitalize(), title, parameters, (kind,))


def look(
    tmp_path: Path, *resources: ResourceData, root: Path = Path("/"), content: Mapping[str, str] | None = None
) -> list[ResourceReport]:
    reports: list[ResourceReport] = []
    body = Body(tuple(resources), (), (), (), dict(content or {}))
    request = RunRequest(body, None, root=root, state=tmp_path / "state", contents=lambda _: io.BytesIO(b"newer"))
    apply(request, LOOK, reports.append)
    return reports


def shown(reports: list[ResourceReport]) -> str:
    return json.dumps(msgspec.to_builtins(reports))


@pytest.mark.skipif(shutil.which("apt-cache") is None or os.geteuid() != 0, reason="needs apt and root")
@pytest.mark.parametrize("provider", ["apt", "pip"])
def test_name_of_one_package_is_no_option_of_the_query_for_another(tmp_path: Path, provider: str) -> None:
    mark, program = tmp_path / "mark", tmp_path / "program"
    program.write_text(f"#!/bin/sh\n/bin/touch {mark}\n")
    program.chmod(0o755)
    option = resource("package", f"-oDir::Bin::dpkg={program}", ensure="latest", provider=provider)
    reports = look(tmp_path, option, resource("package", "bash", ensure="latest", provider="apt"))
    assert reports[0].status.value == "failed"
    assert not mark.exists(), "a program of the catalog ran as root"


@pytest.mark.parametrize("audit", ["content", "all"])
def test_audit_reports_neither_the_digest_of_a_file_nor_its_target(tmp_path: Path, audit: str) -> None:
    secret, link = tmp_path / "pin", tmp_path / "link"
    secret.write_bytes(b"4711")
    link.symlink_to(f"/{SECRET}")
    reports = look(tmp_path, resource("file", str(secret), audit=audit), resource("file", str(link), audit=audit))
    assert of_bytes(b"4711") not in shown(reports)
    assert SECRET not in shown(reports)


def test_names_below_a_directory_are_reported_only_if_the_catalog_has_them(tmp_path: Path) -> None:
    place = tmp_path / "place"
    (place / "deep").mkdir(parents=True)
    (place / f"{SECRET}.key").write_text("x")
    (place / "deep" / SECRET).write_text("x")
    (place / "known").write_text("older")
    digest = of_bytes(b"newer")
    content = {"puppet:///modules/m/d/known": digest, "puppet:///modules/m/d/deep/fresh": digest}
    parameters: dict[str, Any] = {"ensure": "directory", "recurse": True, "mode": "0711"}
    listed = look(tmp_path, resource("file", str(place), **parameters))
    purged = look(tmp_path, resource("file", str(place), **parameters, purge=True, force=True))
    source = {"source": "puppet:///modules/m/d"}
    copied = look(tmp_path, resource("file", str(place), **parameters, **source), content=content)
    for reports in (listed, purged, copied):
        assert SECRET not in shown(reports)
        assert reports[0].status.value == "noop"
        assert "a look-only run does not report which" in shown(reports)
    refs = {event.resource for event in copied[0].events}
    assert {f"File[{place}/known]", f"File[{place}/deep/fresh]"} <= refs


def test_jobs_of_crontabs_are_not_listed(tmp_path: Path) -> None:
    spool = tmp_path / "root/var/spool/cron/crontabs"
    spool.mkdir(parents=True)
    (spool / "root").write_text(f"5 4 * * * /bin/dump --password={SECRET}\n# Puppet Name: {SECRET}\n1 1 * * * /bin/x\n")
    reports = look(tmp_path, resource("resources", "cron", purge=True), root=tmp_path / "root")
    assert SECRET not in shown(reports)
    assert [report.status.value for report in reports] == ["skipped"]
    assert (reports[0].reason or "").startswith("not evaluated: its check lists")


def test_comments_of_keys_in_a_file_that_the_catalog_names_are_not_reported(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"ssh-rsa AAAAB3NzaC1yc2E= {SECRET}\n")
    reports = look(tmp_path, resource("user", "root", purge_ssh_keys=[str(keys)]))
    assert reports[0].status.value == "noop"
    assert SECRET not in shown(reports)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        yield server


def test_fragment_from_another_server_is_not_asked_for(tmp_path: Path, listener: socket.socket) -> None:
    whole = tmp_path / "whole"
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/latest/meta-data"
    fragment = resource("concat_fragment", "part", target=str(whole), source=url)
    reports = look(tmp_path, resource("concat_file", str(whole)), fragment)
    with pytest.raises(TimeoutError):
        listener.accept()
    assert {report.resource: report.status.value for report in reports}[f"Concat_file[{whole}]"] == "skipped"


def test_file_of_fragments_is_reported_by_its_name(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.write_text("older")
    fragment = resource("concat_fragment", "part", target=str(whole), content="newer")
    reports = look(tmp_path, resource("concat_file", str(whole)), fragment)
    events = [event for report in reports for event in report.events]
    assert [(event.resource, event.property) for event in events] == [(f"File[{whole}]", "content")]
