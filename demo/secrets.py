"""Secrets: a password that a node gets, and nobody sees: neither operators, nor the database, nor the logs."""

import secrets
from pathlib import Path

from demo import catalogs
from demo.presenter import Presenter

SOURCES = "sources.toml"
PASSWORDS = Path("passwords/production/database.yaml")
CODE = """
if $trusted['certname'] == '{node}' {{
  $password = precast::secret('passwords', 'database', 'password')
  file {{ '/etc/app.conf': mode => '0600', content => "user = app\\npassword = ${{password.unwrap}}\\n" }}
}}
"""


def prepare(presenter: Presenter) -> None:
    """Give the server a source of secrets: a directory that only it can read."""
    path = presenter.directory / SOURCES
    directory = presenter.directory / PASSWORDS.parts[0]
    path.write_text(f'[passwords]\nkind = "file"\ndirectory = "{directory}"\nenvironments = {{ production = ["/"] }}\n')
    path.chmod(0o600)
    choose_password(presenter)


def choose_password(presenter: Presenter) -> str:
    """Write a new random password into a file on the server."""
    path = presenter.directory / PASSWORDS
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(0o600)
    password = secrets.token_urlsafe(12)
    path.write_text(f"password: {password}\n")
    return password


def show(presenter: Presenter, url: str, node: str) -> None:
    presenter.title("Secrets: a database password that nobody can see")
    presenter.say(f"A random password is in {PASSWORDS} on the server. The code of {node} names it:")
    manifest = presenter.directory / "code/manifests/site.pp"
    manifest.write_text(manifest.read_text() + CODE.format(node=node))
    presenter.say("  content => \"… password = ${precast::secret('passwords', 'database', 'password').unwrap}\"")
    before = presenter.ask("catalog", "show", node)["staged"]
    presenter.ask("env", "deploy", "production", "--from", "code")
    password = (presenter.directory / PASSWORDS).read_text().split()[-1]
    release(presenter, url, node, before, password)
    changed = choose_password(presenter)
    before = presenter.ask("catalog", "show", node)["staged"]
    presenter.run("secrets", "refresh", "passwords")
    release(presenter, url, node, before, changed)
    presenter.run("secrets", "sources")


def release(presenter: Presenter, url: str, node: str, before: str, password: str) -> None:
    """Release the catalog with the password and apply it; then look for the password."""
    catalogs.wait_for_catalog(presenter, node, lambda view: view["staged"] not in (None, before))
    shown = presenter.run("catalog", "diff", node)
    shown += presenter.run("release", node, "--why", "the password of the database")
    presenter.ask("agent", "fetch", "--url", url, "--root", node)
    shown += presenter.run("agent", "apply", "--root", node)
    path = presenter.directory / node / "etc/app.conf"
    has_it = path.read_text().endswith(f"password = {password}\n") and path.stat().st_mode & 0o777 == 0o600
    presenter.claim(f"/etc/app.conf of {node} has the password, and only root can read it", has_it)
    files = [path for path in (presenter.directory / "site").rglob("*") if path.is_file()]
    files += [presenter.directory / "server.log"]
    leaks = [path for path in files if password.encode() in path.read_bytes()]
    presenter.claim(
        f"it is in none of {len(files)} files of the server (database, write-ahead log, keys, log), and was never printed",
        not leaks and password not in shown,
    )
