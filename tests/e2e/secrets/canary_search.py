"""Where a search for canaries looks: each function is one place."""

import asyncio
import hashlib
import json
import os
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import asyncpg

from lab.canaries import Search, cells
from lab.postgres import PostgresServer
from lab.server_process import PRECAST
from precast.agent.catalog.cached_secrets import read_values
from precast.agent.identity.credentials import Credentials
from precast.base import https
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import parse
from precast.store.engine.query import Transaction
from precast.store.schema.tables import TABLES
from tests.e2e.secrets.canary_site import OTHERS, CanarySite
from tests.e2e.server.route_table import read_routes

# The place where the secrets are meant to be; everything that is found in it counts as found, and not as a leak.
ALLOWED = "root-only files of the node"
PAGE_ROWS = 100_000


def look_everywhere(site: CanarySite, search: Search, postgres: PostgresServer | None) -> None:
    look_into_commands(site)
    look_into_answers(site, search)
    look_as_another_node(site, search)
    look_into_backup(site, search)
    look_into_cells(site, search)
    crash_node(site)
    crash_server(site)
    look_into_outputs(site, search)
    look_into_server_files(site, search)
    if postgres is not None:
        look_into_postgres(postgres, search)
    look_into_node_files(site, search)


def look_into_commands(site: CanarySite) -> None:
    """Run the commands that show something about catalogs and reports; what they print is looked into later."""
    for words in (
        ["catalog", "show", "web1"],
        ["catalog", "show", "web1", "--json"],
        ["catalog", "why", "web1"],
        ["catalog", "diff", "web1"],
        ["catalog", "errors"],
        ["catalog", "errors", "--json"],
        ["rollback", "web1", "--preview"],
        ["query", "resources", "--json"],
        ["query", "resources", "parameters.content = 'x'", "--json"],
        ["query", "nodes", "--json"],
        ["report", "list", "--json"],
        ["report", "show", "web1"],
        ["report", "show", "web1", "--json"],
        ["release", "list", "--json"],
        ["env", "show", "production", "--json"],
        ["node", "show", "web1"],
        ["facts", "show", "web1", "--json"],
        ["audit", "--json"],
        ["secrets", "sources", "--json"],
        ["secrets", "list", "production", "--json"],
        ["secrets", "status", "--json"],
        ["status", "--json"],
        ["db", "check", "--data", str(site.site.directory), *site.site.database_words],
        ["db", "work", "--data", str(site.site.directory), *site.site.database_words],
    ):
        site.cli(*words)
    for words in (["agent", "status"], ["agent", "status", "--json"], ["agent", "apply", "--noop", "--json"]):
        site.on_node(*words)


def look_into_answers(site: CanarySite, search: Search) -> None:
    """The answers of every route that reads, to an administrator."""
    answered = set()
    for route, path in requests_to(site):
        answer = ask(site, "GET", path)
        search.look("answers of the API", answer.body, f"GET {path}")
        search.look("answers of the API", "\n".join(map(str, answer.headers.items())), f"headers of {path}")
        if answer.status < 400:
            answered.add(route)
    assert len(answered) > 40, f"most routes answer: {sorted(answered)}"


def requests_to(site: CanarySite) -> Iterator[tuple[str, str]]:
    """Requests to each route that people read, as the route and the path that is asked for."""
    reports = [row["id"] for row in json.loads(ask(site, "GET", "/v1/reports").body)["reports"]]
    pages = Path(__file__).resolve().parents[3] / "src/precast/web/static"
    code = [path for path in (site.directory / "code").rglob("*") if path.is_file()]
    named = {
        "environment": ["production"],
        "node": ["web1", *OTHERS],
        "release": ["1", "2"],
        "report": reports,
        "ref": sorted(read_values(site.machine.agent_state))[:3],
        "file": [path.name for path in pages.iterdir()],
        "digest": [hashlib.sha256(path.read_bytes()).hexdigest() for path in code],
    }
    for row in read_routes():
        if row.method != "GET" or row.who == "node":
            continue
        paths = [row.path]
        for name, values in named.items():
            paths = [path.replace(f"{{{name}}}", quote(str(value))) for path in paths for value in values]
        query = {"/v1/nodes/{node}/origin": "?resource=File", "/v1/events": "?status=failure"}.get(row.path, "")
        for path in dict.fromkeys(paths):
            if "{" not in path:
                yield row.path, path + query


def ask(site: CanarySite, method: str, path: str) -> https.HttpAnswer:
    environment = site.site.environment
    context = https.trust_authority(Path(environment["PRECAST_CA"]).read_text())
    return https.call(
        site.site.url, context, method, path, headers={"Authorization": f"Bearer {environment['PRECAST_TOKEN']}"}
    )


def look_as_another_node(site: CanarySite, search: Search) -> None:
    """Another node asks for what belongs to the first one, with references and digests that it cannot know."""
    context = Credentials(site.directory / "failing").context()
    catalog = (site.machine.agent_state / "catalog.json").read_bytes()
    refs = sorted(read_values(site.machine.agent_state))
    assert refs, "the node has secrets"
    body = json.dumps({"catalog": hashlib.sha256(catalog).hexdigest(), "refs": refs}).encode()
    for method, path, data in (("POST", "/v1/secrets", body), ("GET", "/v1/catalog", b"")):
        answer = https.call(site.site.url, context, method, path, data)
        assert answer.status in (404, 409)
        search.look("answers to another node", answer.body, path)


def look_into_backup(site: CanarySite, search: Search) -> None:
    """A backup without keys is compressed; one with keys is encrypted as well. A support bundle has the ends of logs."""
    words = ["--data", str(site.site.directory), *site.site.database_words]
    plain, sealed = site.directory / "plain.backup", site.directory / "sealed.backup"
    passphrase = site.directory / "passphrase"
    passphrase.write_text("canary")
    passphrase.chmod(0o600)
    site.cli("db", "backup", str(plain), "--without-keys", *words)
    site.cli("db", "backup", str(sealed), "--passphrase-file", str(passphrase), "--with-secrets-key", *words)
    for path in (plain, sealed):
        search.look_into_file("backups", path)
    bundle = site.directory / "bundle.tar.gz"
    site.cli("support-bundle", str(bundle), "--log", str(site.site.directory / "log"))
    search.look_into_file("support bundle", bundle)


def look_into_cells(site: CanarySite, search: Search) -> None:
    """Every cell of every table, decompressed: files of a database have parts of compressed documents on several pages."""
    if site.site.database_words:
        for where, data in asyncio.run(_read_cells(site.site.database_words[1])):
            search.look("cells of the database", data, where)
        return
    for where, data in cells(site.site.directory / "precast.db"):
        search.look("cells of the database", data, where)


async def _read_cells(location: str) -> list[tuple[str, bytes]]:
    database: Database = await connect(parse(location))

    def read() -> Transaction[list[tuple[str, bytes]]]:
        found: list[tuple[str, bytes]] = []
        for table in TABLES:
            rows = yield table.first_page(PAGE_ROWS)
            found += [
                (table.name, value.encode() if isinstance(value, str) else bytes(value))
                for row in rows
                for value in row
                if isinstance(value, str | bytes | bytearray | memoryview)
            ]
        return found

    try:
        return await database.read(read)
    finally:
        await database.close()


def crash_node(site: CanarySite) -> None:
    """The daemon, and a run that is under way, are aborted as a bug in a library would."""
    assert site.agent is not None
    site.agent.send_signal(signal.SIGABRT)
    site.agent.wait(30)
    script = (
        f"ulimit -c unlimited; cd {site.directory}/node; {PRECAST} agent apply --noop & sleep 0.4; kill -ABRT $!; wait"
    )
    done = site.machine.run("/bin/sh", "-c", script)
    site.outputs.append(("crash of a run", done.stdout + done.stderr))


def crash_server(site: CanarySite) -> None:
    """The server and its workers are aborted while a worker compiles."""
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(site.site.pid)], capture_output=True, text=True, check=False
    ).stdout.split()
    for pid in (*map(int, children), site.site.pid):
        try:
            os.kill(pid, signal.SIGABRT)
        except ProcessLookupError:
            continue
    end_s = time.monotonic() + 30
    while site.site.is_running() and time.monotonic() < end_s:
        time.sleep(0.1)
    assert not site.site.is_running()
    site.site.kill()  # it has ended: this closes its output


def look_into_outputs(site: CanarySite, search: Search) -> None:
    for command, text in site.outputs:
        search.look("output of commands", text, command)


def look_into_server_files(site: CanarySite, search: Search) -> None:
    """The data directory with the database, its log, and what a crash has left."""
    for path in sorted(site.site.directory.rglob("*")):
        if path.is_file() and "nodes" not in path.relative_to(site.site.directory).parts:
            place = "log of the server" if path.name == "log" else "files of the server"
            search.look_into_file(place, path)


def look_into_postgres(postgres: PostgresServer, search: Search) -> None:
    """The whole data directory of the database server with its WAL, and its log. A checkpoint writes all pages into the files."""
    asyncio.run(_write_pages(postgres.url()))
    for path in sorted(postgres.data.rglob("*")):
        if path.is_file():
            place = "WAL of PostgreSQL" if "pg_wal" in path.parts else "data directory of PostgreSQL"
            search.look_into_file(place, path)
    search.look_into_file("log of PostgreSQL", postgres.log)


async def _write_pages(location: str) -> None:
    connection = await asyncpg.connect(location)
    try:
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()


def look_into_node_files(site: CanarySite, search: Search) -> None:
    """The state of the agent, its log, and the managed files: a secret may be only where nobody but root can read it."""
    owners = (site.machine.state, site.target, site.directory / "monitor")
    for top in (*owners, site.directory / "failing", site.directory / "mismatched"):
        for path in sorted(top.rglob("*")):
            if path.is_file() and not path.is_symlink():
                is_ours = is_root_only(path, top) and top in owners
                search.look_into_file(ALLOWED if is_ours else "other files of nodes", path)
    search.look_into_file("log of the agent", site.directory / "agent.log")


def is_root_only(path: Path, top: Path) -> bool:
    """Whether nobody but root can read a file, by its own mode or by that of a directory above it."""
    if path.stat().st_uid != 0:
        return False
    if not path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        return True
    directories = [parent for parent in path.parents if parent.is_relative_to(top)]
    return any(not parent.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH) for parent in directories)
