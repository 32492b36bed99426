"""Runs of a cached catalog with secrets: the values are filled in, for a stated time without a server, and only where they are needed."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.catalog_server import CatalogServer
from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.catalog.fetch import fetch_and_note
from precast.agent.identity.credentials import Credentials
from precast.agent.network.http_client import DirectHttp
from precast.agent.state import paths
from precast.agent.state.status_notes import FetchNote
from precast.agent.state.store import LocalStore
from precast.cli.main import main

SECRET = "hunter2-Zq9!x"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    (tmp_path / "site").mkdir()
    with CatalogServer(tmp_path / "site") as made:
        yield made


def release(server: CatalogServer, *resources: dict[str, Any]) -> None:
    server.catalog = msgspec.json.encode({"resources": list(resources)})
    server.sequence += 1


def fetch(server: CatalogServer) -> None:
    with closing(store(server)) as opened:
        fetch_and_note(server.root, [server.url], DirectHttp(Credentials(server.root).context()), opened)


def store(server: CatalogServer) -> LocalStore:
    return LocalStore.open(server.root, lambda: "instance")


def file(title: str, content: Any, **parameters: Any) -> dict[str, Any]:
    return {
        "type": "File",
        "title": title,
        "parameters": {"content": content, **parameters},
        "sensitive_parameters": [] if isinstance(content, str) else ["content"],
    }


def apply(server: CatalogServer, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    main(["agent", "apply", "--root", str(server.root), "--json", *options])
    captured = capsys.readouterr()
    assert SECRET not in captured.out + captured.err
    document: dict[str, Any] = json.loads(captured.out)
    return document


def confirmed(server: CatalogServer, ago: timedelta) -> None:
    with closing(store(server)) as opened:
        note = opened.read_note(FetchNote)
        assert note is not None
        opened.write_note(msgspec.structs.replace(note, checked_at=datetime.now(UTC) - ago))


def failures(document: dict[str, Any]) -> dict[str, str]:
    return {
        report["resource"]: report.get("reason") or report["events"][0]["message"]
        for report in document["resources"]
        if report["status"] == "failed"
    }


def test_run_fills_the_values_in_and_leaves_no_other_trace_of_them(
    server: CatalogServer, capsys: pytest.CaptureFixture[str]
) -> None:
    release(server, file("/app.conf", server.put_secret(f"password = {SECRET}\n"), mode="0600"))
    fetch(server)
    document = apply(server, capsys)
    assert (server.root / "app.conf").read_text() == f"password = {SECRET}\n"
    assert not failures(document)
    kept = {path for path in server.root.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()}
    # The file of values has them in base64.
    assert kept == {server.root / "app.conf"}
    assert apply(server, capsys)["summary"]["changed"] == 0


def test_no_op_run_says_whether_a_secret_content_is_in_sync(
    server: CatalogServer, capsys: pytest.CaptureFixture[str]
) -> None:
    release(server, file("/app.conf", server.put_secret(SECRET)))
    fetch(server)
    (server.root / "app.conf").write_text("older")
    assert apply(server, capsys, "--noop")["summary"]["noop"] == 1
    (server.root / "app.conf").write_text(SECRET)
    assert apply(server, capsys, "--noop")["summary"]["noop"] == 0


def test_secrets_are_used_offline_for_the_stated_time_and_then_fail_their_resources_alone(
    server: CatalogServer, capsys: pytest.CaptureFixture[str]
) -> None:
    release(server, file("/app.conf", server.put_secret(SECRET)), file("/open.conf", "open"))
    fetch(server)
    confirmed(server, timedelta(days=29, hours=23))
    assert not failures(apply(server, capsys))
    (server.root / "app.conf").unlink()
    (server.root / "open.conf").unlink()
    confirmed(server, timedelta(days=30, hours=1))
    (reason,) = failures(apply(server, capsys)).values()
    assert " cannot be used: no server has confirmed the catalog since 20" in reason
    assert reason.endswith("which is longer than 30d (keep_secrets)")
    assert not (server.root / "app.conf").exists()
    assert (server.root / "open.conf").read_text() == "open"
    # Nothing is deleted: the clock may be wrong. A confirmation lets the values be used again.
    assert (server.root / paths.STATE / paths.SECRETS).exists()
    fetch(server)
    assert not failures(apply(server, capsys))
    assert (server.root / "app.conf").read_text() == SECRET


def test_clock_that_is_behind_the_confirmation_withholds_nothing(
    server: CatalogServer, capsys: pytest.CaptureFixture[str]
) -> None:
    release(server, file("/app.conf", server.put_secret(SECRET)))
    fetch(server)
    confirmed(server, -timedelta(days=4000))
    assert not failures(apply(server, capsys))


def test_setting_limits_the_use_of_secrets_but_never_below_two_fetch_intervals(
    server: CatalogServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    release(server, file("/app.conf", server.put_secret(SECRET)))
    fetch(server)
    settings = tmp_path / "agent.toml"
    settings.write_text('keep_secrets = "2h"\nfetch_interval = "30m"\n')
    confirmed(server, timedelta(minutes=110))
    assert not failures(apply(server, capsys, "--config", str(settings)))
    confirmed(server, timedelta(minutes=130))
    assert failures(apply(server, capsys, "--config", str(settings)))
    settings.write_text('keep_secrets = "2h"\nfetch_interval = "90m"\n')
    assert not failures(apply(server, capsys, "--config", str(settings)))


def test_lost_value_fails_what_needs_it_and_what_depends_on_that_is_skipped(
    server: CatalogServer, capsys: pytest.CaptureFixture[str]
) -> None:
    needy = {"type": "Notify", "title": "after", "parameters": {"require": "File[/app.conf]"}}
    release(server, file("/app.conf", server.put_secret(SECRET)), needy, file("/open.conf", "open"))
    fetch(server)
    (server.root / paths.STATE / paths.SECRETS).unlink()
    document = apply(server, capsys)
    ((ref, reason),) = failures(document).items()
    assert ref == "File[/app.conf]"
    assert reason.endswith(" cannot be used: its value is not on this node")
    assert document["summary"]["skipped"] == 1
    assert (server.root / "open.conf").exists()
    assert SECRET.encode() not in catalog_path(server.root).read_bytes()


def test_secret_fragment_that_is_missing_keeps_its_file_as_it_is(
    server: CatalogServer, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = {"type": "Concat_file", "title": "/joined", "parameters": {"path": "/joined"}}
    parts = [
        {"type": "Concat_fragment", "title": f"{n}", "parameters": {"target": "/joined", "order": f"{n}", "content": c}}
        for n, c in enumerate(("open\n", server.put_secret(SECRET)))
    ]
    parts[1]["sensitive_parameters"] = ["content"]
    release(server, whole, *parts)
    fetch(server)
    apply(server, capsys)
    assert (server.root / "joined").read_text() == f"open\n{SECRET}"
    (server.root / paths.STATE / paths.SECRETS).unlink()
    apply(server, capsys)
    assert (server.root / "joined").read_text() == f"open\n{SECRET}"


def test_file_is_not_written_without_a_fragment_that_only_its_tag_relates_to_it(
    server: CatalogServer, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = {"type": "Concat_file", "title": "/joined", "parameters": {"path": "/joined", "tag": "parts"}}
    parts: list[dict[str, Any]] = [
        {
            "type": "Concat_fragment",
            "title": f"{number}",
            "parameters": {"target": "/elsewhere", "tag": "parts", "order": f"{number}", "content": content},
        }
        for number, content in enumerate(("open\n", server.put_secret(SECRET)))
    ]
    parts[1]["sensitive_parameters"] = ["content"]
    release(server, whole, *parts)
    fetch(server)
    apply(server, capsys)
    assert (server.root / "joined").read_text() == f"open\n{SECRET}"
    (server.root / paths.STATE / paths.SECRETS).unlink()
    reasons = failures(apply(server, capsys))
    assert reasons.keys() == {"Concat_fragment[1]", "Concat_file[/joined]"}
    assert (server.root / "joined").read_text() == f"open\n{SECRET}"


def test_look_only_run_has_the_values_and_says_only_whether_they_are_in_sync(
    server: CatalogServer, capsys: pytest.CaptureFixture[str]
) -> None:
    release(server, file("/app.conf", server.put_secret(SECRET)), file("/other.conf", server.put_secret("x" + SECRET)))
    fetch(server)
    (server.root / "app.conf").write_text(SECRET)
    (server.root / "other.conf").write_text("older")
    document = apply(server, capsys, "--reason", "schedule")
    assert (document["summary"]["noop"], document["summary"]["failed"]) == (1, 0)
    (pending,) = document["resources"]
    assert pending["resource"] == "File[/other.conf]"
    (event,) = pending["events"]
    assert {event.get(name) for name in ("previous", "desired", "diff")} <= {None, "[redacted]"}
