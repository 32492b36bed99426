"""Plans: tasks over three nodes in their order. A test after a task fails, is put right, and the run is resumed."""

from contextlib import ExitStack
from functools import partial

from demo.actions import wait_for
from demo.presenter import Presenter
from demo.runs import daemon

PLAN = """
- id: database
  type: upload_file
  roles: [db]
  parameters: {path: /srv/db/schema, data: "version 7\\n"}
  test_post: {file: /srv/db/schema, contains: version 7}

- id: application
  type: shell
  roles: [web, app]
  cross_depends: [{name: database}]
  parameters: {cmd: echo release 7 is unpacked}
  test_pre: {cmd: test -w /tmp}
  test_post: {file: /srv/app/health, contains: ok}

- id: announce
  type: shell
  roles: [web]
  cross_depends: [{name: application}]
  parameters: {cmd: echo release 7 is live}
"""


def show(presenter: Presenter, url: str, nodes: tuple[str, ...], slow: str) -> None:
    """Show a plan over these nodes, of which one fails its test at first."""
    presenter.title("Plans: a database first, then the application, each with its tests")
    (presenter.directory / "release.yaml").write_text(PLAN.lstrip())
    for node in nodes:
        (presenter.directory / node / "etc/precast").mkdir(parents=True, exist_ok=True)
        (presenter.directory / node / "etc/precast/agent.toml").write_text("allow_exec = true\n")
        if node != slow:
            make_healthy(presenter, node)
    presenter.ask("node", "set", slow, "role", "app")
    with ExitStack() as daemons:
        for node in nodes:
            daemons.enter_context(daemon(presenter, url, node))
        for node in nodes:
            wait_for(partial(allows_commands, presenter, node), f"{node} says that it allows commands")
        admin = presenter.environment["PRECAST_TOKEN"]
        presenter.environment["PRECAST_TOKEN"] = presenter.ask("token", "person", "dee", "--role", "commands")["token"]
        try:
            run_plan(presenter, nodes, slow)
        finally:
            presenter.environment["PRECAST_TOKEN"] = admin


def run_plan(presenter: Presenter, nodes: tuple[str, ...], slow: str) -> None:
    presenter.run("plan", "explain", "application", "release.yaml")
    failed = presenter.run("plan", "start", "release.yaml", "--nodes", ",".join(nodes), expected=4)
    presenter.claim(
        f"the test after the task failed on {slow}, so nothing was announced",
        "application, its test after the task failed" in failed and "release 7 is live" not in failed,
    )
    run = presenter.ask("plan", "list")[0]["run"]["id"]
    draw(presenter, run, "1 failed", "failed.svg shows where it stands: the task that failed, and what waits for it")
    make_healthy(presenter, slow)
    resumed = presenter.run("plan", "resume", run, shown=f"plan resume {run[:8]}…")
    presenter.claim(
        "put right and resumed: only what had not succeeded ran again",
        "release 7 is live" in resumed and "database" not in resumed,
    )
    draw(presenter, run, "2 successful", "resumed.svg shows the same run, now that it is done")


def draw(presenter: Presenter, run: str, seen: str, text: str) -> None:
    """Draw a run with the states of its tasks, to the file with which the text begins."""
    name = text.split()[0]
    presenter.run("plan", "draw", "--run", run, "-o", name, shown=f"plan draw --run {run[:8]}… -o {name}")
    picture = (presenter.directory / name).read_text()
    presenter.claim(text, picture.startswith("<svg") and seen in picture and "application" in picture)


def allows_commands(presenter: Presenter, node: str) -> bool:
    """Whether a node has said that its configuration allows commands: a plan that needs them starts on such nodes only."""
    facts = presenter.ask("facts", "show", node)
    return bool(facts.get("facts", facts).get("precast_agent", {}).get("allow_exec"))


def make_healthy(presenter: Presenter, node: str) -> None:
    directory = presenter.directory / node / "srv/app"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "health").write_text("ok\n")
