"""A token for one environment, against a server with two: every route is called, and nothing of the other environment is answered.

What each route must answer stands in a table that is kept by hand. A route that is missing in the table fails the test: whoever adds a
route decides here what a limited token gets from it.
"""

import hashlib
import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lab.agent_runs import apply, compiled, enrolled, reports, until
from lab.server_process import PRECAST
from lab.site import Site
from precast.base import digests, https
from precast.wire.code.content_frames import encode_header

pytestmark = pytest.mark.timeout(240)

OWN_TEXT = "alpha says hello"
HIDDEN_TEXT = "zebra of beta"
HIDDEN_CODE = (
    f"file {{ '/etc/hidden-{HIDDEN_TEXT.split()[0]}': content => '{HIDDEN_TEXT}' }}\n"
    f"@@notify {{ 'exported': message => '{HIDDEN_TEXT}' }}\nNotify <<| tag == 'alpha' |>>\n"
)
OWN_CODE = f"notify {{ '{OWN_TEXT}': }}\n@@notify {{ 'of alpha': tag => 'alpha' }}\n"
REFUSED, NODES_ONLY = 403, 401
# Routes of the whole site: closed to a token for some environments, whatever its role.
SITE_ROUTES = """
GET /v1/authority/rotation
POST /v1/authority/rotation
POST /v1/authority/retirement
GET /v1/requests
POST /v1/requests/{node}/signature
POST /v1/requests/{node}/rejection
GET /v1/certificates
POST /v1/certificates/{node}/revocation
POST /v1/certificates/{node}/cleaning
POST /v1/tokens/enrolment
POST /v1/tokens/person
GET /v1/tokens
DELETE /v1/tokens/{id}
GET /v1/audit
GET /v1/audit/heads
GET /v1/audit/chain
GET /v1/nodes/{node}/origin
GET /v1/nodes/{node}/catalog
GET /v1/nodes/{node}/catalog/why
GET /v1/nodes/{node}/inputs
POST /v1/nodes/{node}/catalog/decision
GET /v1/nodes/{node}/catalog/decision
GET /v1/nodes/{node}/catalog/difference
GET /v1/catalogs/errors
GET /v1/catalogs/warnings
GET /v1/catalogs/dead
GET /v1/catalogs/flapping
GET /v1/catalogs/loops
GET /v1/secret-keys
GET /v1/secret-sources
POST /v1/secret-sources/refreshes
POST /v1/environments/{environment}/exports
POST /v1/previews
POST /v1/previews/rollback
GET /v1/nodes/{node}/releases
GET /v1/releases
GET /v1/releases/{release}
POST /v1/readiness
POST /v1/releases
POST /v1/rollbacks
POST /v1/commands
GET /v1/commands/{run}/changes
GET /v1/commands/{run}/content/{node}
POST /v1/commands/{run}/stop
POST /v1/commands/{run}/abort
POST /v1/commands/{run}/resume
POST /v1/commands/{run}/retry
GET /v1/command-actions
POST /v1/command-actions
GET /v1/command-actions/{action}
POST /v1/command-actions/{action}/{change}
POST /v1/targets
GET /v1/nodes
GET /v1/nodes/{node}
POST /v1/classifications
POST /v1/deactivations
POST /v1/reactivations
POST /v1/collections
POST /v1/nodes/{node}/machine
POST /v1/purges
GET /v1/windows
GET /v1/windows/{window}
POST /v1/windows/{window}
DELETE /v1/windows/{window}
POST /v1/windows/{window}/bindings
DELETE /v1/windows/{window}/bindings
GET /v1/nodes/{node}/openings
GET /v1/rules
POST /v1/rules/{number}
DELETE /v1/rules/{number}
POST /v1/refreshes
POST /v1/policies
GET /v1/nodes/{node}/policy
GET /v1/status
GET /metrics
GET /v1/nodes/{node}/session
GET /v1/servers
GET /v1/nodes/{node}/facts
GET /v1/nodes/{node}/facts/changes
GET /v1/nodes/{node}/facts/difference
GET /v1/reports
GET /v1/reports/{report}
GET /v1/reports/{report}/events
GET /v1/events
"""
# Routes of one environment: closed for another environment, whether it exists or not.
ENVIRONMENT_ROUTES = """
GET /v1/environments/{environment}
POST /v1/environments/{environment}/missing
POST /v1/environments/{environment}/content
GET /v1/environments/{environment}/content/{digest}
POST /v1/environments/{environment}/versions
POST /v1/environments/{environment}/rollbacks
POST /v1/environments/{environment}/policies
POST /v1/environments/{environment}/approvals
GET /v1/environments/{environment}/exports
GET /v1/environments/{environment}/exports/{type}/collectors
GET /v1/environments/{environment}/futures
GET /v1/environments/{environment}/futures/value
GET /v1/environments/{environment}/futures/changes
GET /v1/environments/{environment}/futures/why
POST /v1/environments/{environment}/futures
GET /v1/environments/{environment}/secrets
GET /v1/environments/{environment}/secrets/{ref}
GET /v1/environments/{environment}/secret-policy
POST /v1/environments/{environment}/secret-policy
GET /v1/environments/{environment}/signing
POST /v1/environments/{environment}/signing
POST /v1/environments/{environment}/deployments
GET /v1/environments/{environment}/difference
GET /v1/environments/{environment}/plans
"""
NODE_ROUTES = """
GET /v1/catalog
GET /v1/content/{digest}
GET /v1/entries/{digest}
GET /v1/agent/task-content/{digest}
PUT /v1/agent/task-content/{digest}
GET /v1/policy
POST /v1/facts
POST /v1/secrets
GET /v1/session
"""
# Routes that a limited token may call, and what they answer to it.
OPEN_ROUTES = {
    "GET /v1/environments": 200,
    "GET /v1/exports": 200,
    "GET /v1/exports/{type}": 200,
    "POST /v1/queries": 400,  # for the empty body; real queries have tests of their own
    "GET /v1/approvals": 200,
    "GET /v1/approvals/{request}": 404,
    "POST /v1/approvals/{request}/approval": 404,
    "POST /v1/approvals/{request}/rejection": 404,
    "POST /v1/approvals/{request}/withdrawal": 404,
    "POST /v1/runs": 400,  # for the empty body; real runs have a test of their own
    "GET /v1/runs": 200,
    "GET /v1/runs/{run}": 404,
    "GET /v1/runs/{run}/steps": 404,
    "GET /v1/runs/{run}/changes": 404,
    "GET /v1/runs/{run}/futures": 404,
    "POST /v1/runs/{run}/stop": 404,
    "POST /v1/runs/{run}/abort": 404,
    "POST /v1/runs/{run}/resume": 404,
    "POST /v1/runs/{run}/retry": 404,
    "GET /v1/actions": 200,
    "POST /v1/actions": 400,  # for the empty body; real actions have a test of their own
    "GET /v1/actions/{action}": 404,
    "POST /v1/actions/{action}/{change}": 404,
    "POST /v1/plans/check": 400,  # for the empty body; real plans have a test of their own
    "POST /v1/plans": 400,
    "GET /v1/plans": 200,
    "GET /v1/plans/{run}": 404,
    "GET /v1/plans/{run}/document": 404,
    "GET /v1/plans/{run}/data/{node}": 404,
    "GET /v1/plans/{run}/instances": 404,
    "GET /v1/plans/{run}/changes": 404,
    "POST /v1/plans/{run}/stop": 404,
    "POST /v1/plans/{run}/abort": 404,
    "POST /v1/plans/{run}/resume": 404,
    "POST /v1/plans/{run}/retry": 404,
    "POST /v1/plans/{run}/approve": 400,
    "POST /v1/plans/{run}/run-task": 400,
    "GET /v1/authority": 200,
    "GET /v1/crl": 200,
    "GET /v1/crl.pem": 200,
    "POST /v1/requests": 400,
    "POST /v1/enrolments": 400,
    "POST /v1/renewals": 400,
    "GET /health/live": 200,
    "GET /health/ready": 200,
    "GET /v1/openapi.json": 200,
    "GET /v1/reference": 200,
    "POST /v1/hooks/{environment}": 401,
    "POST /v1/web/session": 400,
    "GET /v1/web/session": 200,
    "DELETE /v1/web/session": 200,
    "GET /": 200,
    "GET /web/{file}": 404,
}
EXPECTED = {
    **dict.fromkeys(SITE_ROUTES.split("\n")[1:-1], REFUSED),
    **dict.fromkeys(ENVIRONMENT_ROUTES.split("\n")[1:-1], REFUSED),
    **dict.fromkeys(NODE_ROUTES.split("\n")[1:-1], NODES_ONLY),
    **OPEN_ROUTES,
}


class World(NamedTuple):
    """A site with the environments alpha and beta, a node with a report in each, and a token for alpha."""

    site: Site
    token: str
    hidden: dict[str, str]  # what nobody may learn who may read only alpha

    def ask(self, method: str, path: str, body: bytes | None = None, token: str = "") -> Any:
        context = https.trust_authority(Path(self.site.environment["PRECAST_CA"]).read_text())
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return https.call(self.site.url, context, method, path, body or b"", headers=headers)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("limits")
    with Site(directory / "site") as site:
        yield _populate(site, directory)


def _populate(site: Site, directory: Path) -> World:
    hidden: dict[str, str] = {"text": HIDDEN_TEXT}
    for environment, node, code in (
        ("alpha", "anode", OWN_CODE),
        ("beta", "bnode-hidden", HIDDEN_CODE),
    ):
        source = directory / environment
        (source / "manifests").mkdir(parents=True)
        (source / "manifests/site.pp").write_text(code)
        version = site.run("env", "deploy", environment, "--from", str(source))["current"]["version"]
        with enrolled(site, node) as agent:
            agent.until_connected()
            site.run("node", "set", node, "environment", environment)
            until(partial(_is_released, site, node))
            (agent.root / "etc").mkdir(exist_ok=True)
            apply(agent.root, compiled(agent.root, code))
            (row, *_) = until(partial(reports, site, "--node", node, "--state", "ended"))
        if environment == "beta":
            catalog = site.run("catalog", "show", node)
            hidden |= {"node": node, "report": row["id"], "version": version, "catalog": catalog["staged"]}
            hidden |= {"file": hashlib.sha256(code.encode()).hexdigest(), "title": "/etc/hidden-zebra"}
    # Its nodes collect from all environments, so also from alpha.
    site.run("env", "exports", "beta", "everywhere")
    until(lambda: bool(site.run("exports", "show", "Notify[of alpha]")["collectors"]["alpha"]))
    hidden["request"] = _request_release(site, directory / "beta", hidden["node"])
    token = site.run("token", "person", "eve", "--role", "admin", "--environment", "alpha")["token"]
    return World(site, token, hidden)


def _request_release(site: Site, source: Path, node: str) -> str:
    """A release of beta that waits for approval; returns the id of the request."""
    site.run("env", "approvals", "beta", "1")
    (source / "manifests/site.pp").write_text(HIDDEN_CODE + "notify { 'more': }\n")
    site.run("env", "deploy", "beta", "--from", str(source))
    words = [PRECAST, "release", node, "--wait", "--json"]
    done = subprocess.run(words, env=site.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 5, done
    (pending,) = json.loads(done.stdout)["pending"]
    return str(pending["request"])


def _is_released(site: Site, node: str) -> bool:
    """Release the staged catalog of a node, if there is one by now."""
    words = [PRECAST, "release", node, "--json"]
    done = subprocess.run(words, env=site.environment, capture_output=True, text=True, check=False)
    return done.returncode == 0


def _fill(path: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def assert_nothing_hidden(world: World, answer: Any, request: str) -> None:
    """Fail if an answer has something of beta that the request itself did not contain."""
    text = answer.body.decode(errors="replace") + repr(getattr(answer, "headers", ""))
    for what, value in world.hidden.items():
        if value not in request:
            assert value not in text, (what, request, text[:2000])


def test_every_route_is_in_the_table(world: World) -> None:
    document = json.loads(world.ask("GET", "/v1/openapi.json").body)
    described = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert described <= set(EXPECTED)


def test_no_route_answers_with_anything_of_another_environment(world: World) -> None:
    beta = {
        "environment": "beta",
        "node": world.hidden["node"],
        "report": world.hidden["report"],
        "request": world.hidden["request"],
        "digest": world.hidden["file"],
        "run": "0" * 36,
        "release": "1",
        "id": "0" * 36,
        "type": "Notify",
        "ref": "0" * 64,
        "number": "1",
        "file": "nothing.js",
    }
    for route, status in EXPECTED.items():
        method, _, path = route.partition(" ")
        filled = _fill(path, beta)
        answer = world.ask(method, filled, None if method == "GET" else b"{}")
        assert answer.status == status, (route, answer)
        assert_nothing_hidden(world, answer, filled)


def test_environment_that_exists_is_refused_like_one_that_does_not(world: World) -> None:
    for route in ENVIRONMENT_ROUTES.split("\n")[1:-1]:
        method, _, path = route.partition(" ")
        answers = []
        for name in ("beta", "gone"):
            answer = world.ask(method, _fill(path, {"environment": name, "digest": "0" * 64}), b"{}")
            answers.append((answer.status, answer.body.decode().replace(name, "NAME")))
        assert answers[0] == answers[1], route


def test_routes_of_the_own_environment_show_nothing_of_another(world: World) -> None:
    hidden = world.hidden
    missing = json.dumps({"digests": [hidden["file"], hidden["version"], "1" * 64]}).encode()
    asked = {
        "GET /v1/environments/alpha": (200, None),
        "POST /v1/environments/alpha/missing": (200, missing),
        f"GET /v1/environments/alpha/content/{hidden['file']}": (404, None),
        f"GET /v1/environments/alpha/content/{hidden['version']}": (404, None),
        "POST /v1/environments/alpha/versions": (409, json.dumps({"version": hidden["version"]}).encode()),
        "GET /v1/environments/alpha/difference": (404, None),
        "GET /v1/environments/alpha/exports": (200, None),
        "GET /v1/environments/alpha/exports/Notify/collectors": (200, None),
        "GET /v1/environments/alpha/futures": (200, None),
        "GET /v1/environments/alpha/futures/value?key=k": (404, None),
        "GET /v1/environments/alpha/futures/changes?key=k": (200, None),
        "GET /v1/environments/alpha/futures/why?key=k": (200, None),
    }
    for route, (status, body) in asked.items():
        method, _, path = route.partition(" ")
        answer = world.ask(method, path, body)
        assert answer.status == status, (route, answer)
        assert_nothing_hidden(world, answer, path + (body or b"").decode())
    answer = world.ask("POST", "/v1/environments/alpha/missing", missing)
    assert set(json.loads(answer.body)["missing"]) == {hidden["file"], hidden["version"], "1" * 64}


def test_tree_with_a_digest_of_another_environment_is_not_deployed(world: World) -> None:
    code = HIDDEN_CODE.encode()
    tree = json.dumps(
        {"files": {"manifests/stolen.pp": [world.hidden["file"], len(code), False]}}, separators=(",", ":")
    ).encode()
    frame = encode_header(digests.of_bytes(tree), len(tree)) + tree
    assert world.ask("POST", "/v1/environments/alpha/content", frame).status == 200
    body = json.dumps({"version": digests.of_bytes(tree)}).encode()
    answer = world.ask("POST", "/v1/environments/alpha/versions", body)
    assert (answer.status, json.loads(answer.body)["code"]) == (409, "ENV-007")
    assert world.ask("GET", f"/v1/environments/alpha/content/{world.hidden['file']}").status == 404


def test_token_for_an_environment_starts_sees_and_ends_only_jobs_of_its_nodes(world: World) -> None:
    admin = world.site.environment["PRECAST_TOKEN"]

    def ask(route: str, *nodes: str, token: str = "") -> Any:
        method, _, path = route.partition(" ")
        # The nodes are not connected, and the jobs wait for them.
        body = json.dumps({"nodes": {"targets": nodes}, "limits": {"away_s": 3600}}).encode() if nodes else None
        return world.ask(method, path, body, token)

    others = world.hidden["node"]
    refused = ask("POST /v1/runs", "anode", others)
    assert (refused.status, json.loads(refused.body)["code"]) == (403, "RUN-006")
    assert b"beta" not in refused.body
    own = json.loads(ask("POST /v1/runs", "anode").body)["id"]
    foreign = [
        json.loads(ask("POST /v1/runs", *nodes, token=admin).body)["id"] for nodes in (["anode", others], [others])
    ]
    for run in foreign:
        for route in ("GET", "GET /steps", "GET /changes", "POST /stop", "POST /abort", "POST /resume", "POST /retry"):
            method, _, end = route.partition(" ")
            assert ask(f"{method} /v1/runs/{run}{end}").status == 404, route
        assert json.loads(ask(f"GET /v1/runs/{run}", token=admin).body)["state"] == "going"
    assert [job["id"] for job in json.loads(ask("GET /v1/runs").body)] == [own]
    shown = json.loads(ask(f"GET /v1/runs/{own}").body)
    assert (shown["environment"], shown["counts"]) == ("alpha", {"QUEUED": 1})
    assert json.loads(ask(f"POST /v1/runs/{own}/abort").body)["stopped_by"] == "person:eve"
    until(lambda: json.loads(ask(f"GET /v1/runs/{own}").body)["state"] == "aborted")
    assert json.loads(ask(f"POST /v1/runs/{own}/resume").body)["round"] == 2
    for run in (own, *foreign):
        assert ask(f"POST /v1/runs/{run}/stop", token=admin).status == 200


def test_token_for_an_environment_creates_sees_and_changes_only_actions_of_its_nodes(world: World) -> None:
    admin = world.site.environment["PRECAST_TOKEN"]

    def create(*nodes: str, token: str = "", resolve: str = "now") -> Any:
        work, times = {"kind": "facts"}, {"cron": "@yearly"}
        body = {"work": work, "nodes": {"targets": nodes}, "times": times, "resolve": resolve}
        return world.ask("POST", "/v1/actions", json.dumps(body).encode(), token)

    others = world.hidden["node"]
    for nodes, resolve in (([others], "now"), (["anode", others], "now"), ([others], "start"), (["*"], "start")):
        refused = create(*nodes, resolve=resolve)
        assert (refused.status, json.loads(refused.body)["code"]) == (403, "ACTION-007")
        assert b"beta" not in refused.body
    own = json.loads(create("anode").body)
    assert own["environment"] == "alpha"
    foreign = [json.loads(create(*nodes, token=admin).body)["id"] for nodes in (["anode", others], [others])]
    for action in foreign:
        assert world.ask("GET", f"/v1/actions/{action}").status == 404
        for change in ("cancel", "abort", "retry", "pause", "resume", "run-now"):
            assert world.ask("POST", f"/v1/actions/{action}/{change}").status == 404, change
        shown = world.ask("GET", f"/v1/actions/{action}", token=admin)
        assert json.loads(shown.body)["state"] == "active"
    assert [action["id"] for action in json.loads(world.ask("GET", "/v1/actions").body)] == [own["id"]]
    cancelled = world.ask("POST", f"/v1/actions/{own['id']}/cancel")
    assert json.loads(cancelled.body)["message"] == "cancelled by person:eve"
    for action in foreign:
        assert world.ask("POST", f"/v1/actions/{action}/cancel", token=admin).status == 200


@pytest.mark.parametrize("about", ["nodes", "resources", "reports"])
def test_queries_show_only_the_own_environment(world: World, about: str) -> None:
    bodies: list[dict[str, Any]] = [
        {"about": about},
        {"about": about, "by": ["environment"]},
        {"about": about, "nodes": {"targets": [world.hidden["node"]]}}
        if about != "nodes"
        else {"about": about, "where": "*"},
    ]
    for query in bodies:
        body = json.dumps(query).encode()
        answer = until(partial(_ask_index, world, body))
        assert answer.status in (200, 400), answer
        assert_nothing_hidden(world, answer, body.decode())
        assert b"beta" not in answer.body


def _ask_index(world: World, body: bytes) -> Any:
    """The answer to a query; None while a release is not indexed yet."""
    answer = world.ask("POST", "/v1/queries", body)
    return None if answer.status == 503 else answer


def test_own_node_is_found(world: World) -> None:
    answer = world.ask("POST", "/v1/queries", b'{"about": "nodes"}')
    assert b"anode" in answer.body
