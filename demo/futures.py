"""Futures: a database, two web nodes and a load balancer start at once, and have each other's values; then the database fails."""

import shutil
from contextlib import ExitStack

from demo import facts, runs
from demo.presenter import Presenter

NODES = ("shop-db", "shop-web1", "shop-web2", "shop-lb")
# All who wait say why within so many seconds, although their futures may wait for 600.
EXPLAINED_S = 30.0
CODE = """$me = $trusted['certname']
case $me {
  'shop-db': {
    file { '/srv/data/schema': content => "orders\\n" }
    promise { 'db/endpoint': value => "${me}:5432", require => File['/srv/data/schema'] }
  }
  /web/: {
    file { '/etc/shop.conf': content => "database = ${future('db/endpoint')}\\n" }
    promise { 'web/endpoint': value => "${me}:80", require => File['/etc/shop.conf'] }
  }
  'shop-lb': {
    $template = '<% $backends.keys.sort.each |$web| { -%>server <%= $backends[$web] %>;<% } -%>'
    file { '/etc/backends': content => Deferred('inline_epp', [$template, {'backends' => futures('web/endpoint')}]) }
  }
}
"""


def show(presenter: Presenter, url: str) -> None:
    presenter.title("Futures: four nodes, one database endpoint")
    code = presenter.directory / "shop" / "manifests"
    code.mkdir(parents=True)
    (code / "site.pp").write_text(CODE)
    presenter.run("env", "deploy", "shop", "--from", "shop")
    with ExitStack() as daemons:
        for number, node in enumerate(NODES, 1):
            _enrol(presenter, url, node)
            daemons.enter_context(runs.daemon(presenter, url, node))
            presenter.bar("daemons", number, len(NODES), node)
        presenter.ask("node", "policy", "set", *NODES, "--enforce", "triggered")
        for node in NODES:
            runs.wait_for_status(presenter, node, lambda status: status.get("policy", {}).get("enforce") == "triggered")
        presenter.ask("release", *NODES, "--wait")
        start_at_once(presenter)
        let_the_database_fail(presenter)


def _enrol(presenter: Presenter, url: str, node: str) -> None:
    token = presenter.ask("token", "enrol", node)["token"]
    presenter.ask("agent", "enrol", "--url", url, "--token", token, "--name", node, "--root", node)
    presenter.ask("node", "set", node, "environment", "shop")
    facts.furnish(presenter, node, "gold")
    (presenter.directory / node / "srv" / "data").mkdir(parents=True, exist_ok=True)


def start_at_once(presenter: Presenter) -> None:
    """Run all four nodes at once, and then one after the other, which takes longer."""
    presenter.say(
        "web nodes need the database's endpoint, the load balancer needs both web nodes; nobody says in which order"
    )
    began_s = presenter.elapsed_s()
    output = presenter.run("run", *NODES, "--why", "first installation")
    together_s = presenter.elapsed_s() - began_s
    presenter.claim("all four nodes have completed, started at once", "4 COMPLETED" in output)
    backends = (presenter.directory / "shop-lb" / "etc" / "backends").read_text()
    is_known = "database = shop-db:5432" in (presenter.directory / "shop-web1" / "etc" / "shop.conf").read_text()
    presenter.claim(f"the load balancer has: {backends}", is_known and backends.count("server shop-web") == 2)
    presenter.run("value", "get", "db/endpoint", "--root", "shop-web1", "--wait", "--timeout", "20")
    began_s = presenter.elapsed_s()
    for node in NODES:
        presenter.ask("run", node)
    parts_s = presenter.elapsed_s() - began_s
    presenter.claim(
        f"at once: {together_s:.1f} s; the same nodes one after the other, with nothing left to do: {parts_s:.1f} s",
        together_s < parts_s,
    )


def let_the_database_fail(presenter: Presenter) -> None:
    """Break the database's disk: all who wait fail within seconds, and say why."""
    shutil.rmtree(presenter.directory / "shop-db" / "srv" / "data")
    presenter.event("the database's directory is gone: it will not promise its endpoint")
    began_s = presenter.elapsed_s()
    answer = presenter.ask("run", *NODES, "--why", "again", expected=4)
    took_s = presenter.elapsed_s() - began_s
    steps = {step["node"]: step for step in answer["steps"]}
    is_failed = all(step["state"] == "FAILED" for step in steps.values())
    presenter.claim(
        f"all four have failed after {took_s:.1f} s, not at their deadline", is_failed and took_s < EXPLAINED_S
    )
    for node, word in (("shop-web1", "promised by shop-db"), ("shop-lb", "web/endpoint is needed of 2 of 2 nodes")):
        shown = presenter.run("report", "show", steps[node]["report"], shown=f"report show {node}", expected=4)
        presenter.claim(f"{node} says whom it waited for, and why in vain", word in shown)
