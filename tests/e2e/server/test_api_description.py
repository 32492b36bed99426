"""The API against its own description: schemathesis sends valid and invalid requests, with each kind of credentials.

One check is excluded: that every request that matches the schema is accepted. The schema describes the form of a body; whether a name
exists or a token is valid only the response can say, with a documented status and code.
"""

import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from precast.api.http import reference_page
from tests.e2e.precast_command import assert_fine
from tests.e2e.precast_server import Server, running

SCHEMATHESIS = str(Path(sys.executable).with_name("st"))
EXCLUDED_CHECK = "positive_data_acceptance"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Server.init(tmp_path_factory.mktemp("site") / "data")) as started:
        yield started


def node_of(server: Server) -> Path:
    """The directory with the key and certificate of an enrolled node."""
    root = server.data / "nodes" / "node1.test"
    if not root.exists():
        assert_fine(server.enrol(root, "node1.test", server.read("token", "enrol", "node1.test")["token"]))
    return root / "var/lib/precast/agent"


def credentials(server: Server, kind: str) -> list[str]:
    if kind == "nobody":
        return []
    if kind == "node":
        directory = node_of(server)
        return ["--request-cert", str(directory / "certificate.pem"), "--request-cert-key", str(directory / "key.pem")]
    token = server.admin if kind == "admin" else server.read("token", "person", kind, "--role", kind)["token"]
    return ["--header", f"Authorization: Bearer {token}"]


@pytest.mark.parametrize(
    ("kind", "examples", "phases"),
    [
        ("nobody", 2, "fuzzing"),
        ("viewer", 2, "fuzzing"),
        ("operator", 2, "fuzzing"),
        ("node", 2, "fuzzing"),
        ("admin", 8, "coverage,fuzzing"),
    ],
)
@pytest.mark.timeout(300)
def test_api_answers_as_described(server: Server, tmp_path: Path, kind: str, examples: int, phases: str) -> None:
    done = subprocess.run(
        [
            *(SCHEMATHESIS, "--no-color", "run", f"{server.url}/v1/openapi.json"),
            *("--tls-verify", str(server.authority), "--exclude-checks", EXCLUDED_CHECK, "--phases", phases),
            *("--max-examples", str(examples), "--seed", "1", "--continue-on-failure", "--generation-database", "none"),
            *credentials(server, kind),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert "internal error" not in server.log.lower(), server.log
    assert "Traceback" not in server.log, server.log[-5000:]


class PageContents(HTMLParser):
    """The tags, ids and links of a page, and the attributes that could run or load something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        attributes = dict(attrs)
        self.loads += [name for name in attributes if name in ("src", "srcset", "style") or name.startswith("on")]
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name == "href" and value]


def test_reference_page_has_no_scripts_and_loads_nothing(server: Server) -> None:
    response = server.ask("GET", "/v1/reference")
    assert (response.status, response.kind) == (200, "text/html")
    page = PageContents()
    page.feed(response.body)
    assert page.tags.isdisjoint({"script", "iframe", "img", "link", "form", "object"})
    assert page.loads == []
    assert len(page.ids) == len(set(page.ids))
    inside = {link[1:] for link in page.links if link.startswith("#")}
    assert inside <= set(page.ids)
    assert {link for link in page.links if not link.startswith("#")} == {"/v1/openapi.json"}
    document = server.ask("GET", "/v1/openapi.json").body
    for path in document["paths"]:
        assert f"> {path}</code>" in response.body
    assert "default-src 'none'" in reference_page.HEADERS["Content-Security-Policy"]
    assert "unsafe" not in reference_page.HEADERS["Content-Security-Policy"]


def test_reference_page_has_its_security_headers(server: Server) -> None:
    headers = server.headers("/v1/reference")
    for name, value in reference_page.HEADERS.items():
        assert headers[name] == value


def test_wrong_method_gets_the_accepted_methods(server: Server) -> None:
    response = server.ask("DELETE", "/v1/nodes/web1")
    assert (response.status, response.body["code"]) == (405, "API-012")
    assert response.body["hint"] == "it accepts GET"
    assert server.ask("DELETE", "/v1/nothing").status == 404
