"""Exported resources: a monitor learns of a new web node within seconds, and forgets it when it leaves."""

from typing import Any

from demo import facts
from demo.catalogs import wait_for_catalog
from demo.presenter import Presenter

CODE = """
# What each web node wants to be watched for, and the monitor, which watches all of them.
if $trusted['certname'] =~ /^web/ {
  @@file { "/etc/monitored-${trusted['certname']}": content => "ping ${trusted['certname']}\\n", tag => 'monitored' }
}
if $trusted['extensions']['pp_role'] == 'db' { File <<| tag == 'monitored' |>> }
"""


def show(presenter: Presenter, url: str, monitor: str, web: str, newcomer: str) -> None:
    presenter.title("Exported resources: a monitor learns of a new web node")
    site = presenter.directory / "code" / "manifests" / "site.pp"
    site.write_text(site.read_text() + CODE)
    before = {node: presenter.ask("catalog", "show", node) for node in (monitor, web)}
    presenter.run("env", "deploy", "production", "--from", "code")
    for node, view in before.items():
        wait_for_catalog(presenter, node, lambda now, view=view: now["version"] != view["version"])
    presenter.ask("release", monitor)
    release_one(presenter, monitor, web)
    presenter.run("release", monitor)
    presenter.run("env", "policy", "production", "automatic")
    known = presenter.ask("catalog", "show", monitor)["released"]
    learn(presenter, url, monitor, newcomer, known)
    presenter.run("node", "deactivate", newcomer, "--why", "sold")
    wait_for_catalog(presenter, monitor, lambda view: view["released"] == known)
    presenter.claim(f"{monitor} is served the catalog that it had before {newcomer} came, to the byte", True)
    presenter.ask("node", "purge", newcomer)
    presenter.ask("env", "policy", "production", "manual")


def release_one(presenter: Presenter, monitor: str, web: str) -> None:
    """Release an exporter: the preview names the monitor, whose new catalog is then staged."""
    preview = presenter.run("release", web, "--preview")
    presenter.claim(f"the preview says that {monitor} will be decided again", f"decided again: {monitor}" in preview)
    presenter.run("release", web)
    began_s = presenter.elapsed_s()
    wait_for_catalog(presenter, monitor, lambda view: view["staged"] != view["released"])
    delay = f"{presenter.elapsed_s() - began_s:.1f} s after the release"
    diff = presenter.run("catalog", "diff", monitor)
    presenter.claim(f"{delay} the monitor's new catalog is staged", f"File[/etc/monitored-{web}] added" in diff)


def learn(presenter: Presenter, url: str, monitor: str, newcomer: str, known: Any) -> None:
    """Enrol a web node: under automatic releases the monitor's served catalog watches it soon."""
    token = presenter.ask("token", "enrol", newcomer, "--extension", "pp_role=web")["token"]
    presenter.ask("agent", "enrol", "--url", url, "--token", token, "--name", newcomer, "--root", newcomer)
    facts.furnish(presenter, newcomer, "gold")
    presenter.say(f"{newcomer} is enrolled, and its agent starts")
    began_s = presenter.elapsed_s()
    with facts.agent(presenter, url, newcomer):
        wait_for_catalog(
            presenter, monitor, lambda view: view["released"] not in (None, known) and has_learnt(presenter)
        )
    presenter.run("exports", "list", "File")
    shown = presenter.run("exports", "show", f"File[/etc/monitored-{newcomer}]")
    delay = f"{presenter.elapsed_s() - began_s:.1f} s later"
    presenter.claim(f"{delay} {monitor} is served a catalog that watches {newcomer}", monitor in shown)


def has_learnt(presenter: Presenter) -> bool:
    """Whether both web nodes export, and the monitor is served what is staged for it."""
    return len(presenter.ask("exports", "list", "File")) == 2
