"""A node without a policy that permits enforcing only looks: code and commands of its environment do not run there as root.

Everything here is real: a server, a node at the root of this machine (with an agent's state of its own), and an environment whose author
has nothing but the right to deploy it. Each hostile resource would leave a mark as root.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.private_machine import MISSING, PrivateMachine
from lab.site import Site

pytestmark = [pytest.mark.timeout(240), pytest.mark.skipif(bool(MISSING), reason=MISSING or "available")]

SECRET = "the-root-password-of-the-database"

PLUGIN = """
import os, socket
MARKS = {marks!r}
def facts():
    tried = {{}}
    try:
        open(MARKS + "/plugin", "w").close()
        tried["wrote"] = True
    except OSError as error:
        tried["wrote"] = error.strerror
    try:
        open({secret!r}).read()
        tried["secret"] = True
    except OSError as error:
        tried["secret"] = error.strerror
    try:
        socket.create_connection(("127.0.0.1", {port}), timeout=2).close()
        tried["network"] = True
    except OSError as error:
        tried["network"] = False
    with open("scratch", "w") as file:
        file.write("x")
    return {{"evil": {{"uid": os.getuid(), "euid": os.geteuid(), **tried, "groups": os.getgroups()}}}}
"""

# The same in Ruby, as modules of Puppet add facts.
RUBY_FACT = """
Facter.add(:evil_ruby) do
  setcode do
    {{
      'uid' => `id -u`.to_i, 'wrote' => system('touch {marks}/ruby 2>/dev/null'), 'secret' => File.readable?('{secret}'),
      'asked' => Facter.value('os.family'),
    }}
  end
end
"""

CODE = """
$m = '{marks}'
exec {{ 'guarded by onlyif': command => '/bin/true', onlyif => "/bin/touch $m/onlyif" }}
exec {{ 'guarded by unless': command => '/bin/true', unless => "/bin/touch $m/unless" }}
exec {{ "/bin/touch $m/command": }}
exec {{ 'refreshed': command => "/bin/touch $m/refreshed", refreshonly => true, subscribe => File['{directory}/new'] }}
service {{ 'asked': ensure => running, status => "/bin/touch $m/status", provider => 'base' }}
service {{ 'scripted': ensure => running, provider => 'init', path => '{directory}/programs' }}
service {{ '../..{directory}/programs/climbing': ensure => running, provider => 'init' }}
package {{ 'anything': ensure => present, provider => 'pip', command => '{directory}/programs/pip' }}
file {{ '{directory}/new': ensure => file, content => 'x', validate_cmd => "/bin/touch $m/validate" }}
file {{ '{directory}/fetched': ensure => file, source => 'http://127.0.0.1:{port}/' }}
file {{ '{directory}/secret': ensure => file, content => 'nothing like it' }}
file {{ '{directory}/public': ensure => file, source => '{directory}/secret' }}
file_line {{ 'guess': path => '{directory}/secret', line => 'x', match => '^the-root-' }}
ini_setting {{ 'ask': path => '{directory}/secret.ini', section => 'client', setting => 'password', value => 'x' }}
file {{ '{directory}/deferred': content => Deferred('sprintf', ['%s', 'x']) }}
"""

# The declarations of types that modules bring along; Precast has their handlers.
TYPES = {
    "file_line": ("path", "line", "match"),
    "ini_setting": ("path", "section", "setting", "value"),
}


class Attack:
    """An environment whose author wants root on a node, and the node."""

    def __init__(self, site: Site, directory: Path) -> None:
        self.site, self.directory = site, directory
        self.marks = directory / "marks"
        self.marks.mkdir(mode=0o755)
        self.listens = 0
        (directory / "secret").write_text(SECRET + "\n")
        (directory / "secret").chmod(0o600)
        (directory / "secret.ini").write_text(f"[client]\npassword = {SECRET}\n")
        (directory / "secret.ini").chmod(0o600)
        (directory / "public").write_text("public\n")
        programs = directory / "programs"
        programs.mkdir()
        for name in ("scripted", "climbing", "pip"):
            (programs / name).write_text(f"#!/bin/sh\ntouch {self.marks}/{name}\necho '[]'\n")
            (programs / name).chmod(0o755)
        self._deploy()
        self.machine = PrivateMachine(directory / "node", site.environment)
        token = site.run("token", "enrol", "victim")["token"]
        self.precast("agent", "enrol", "--token", token, "--name", "victim")

    def _deploy(self) -> None:
        code = self.directory / "code"
        plugins = code / "modules/evil/precast/facts"
        plugins.mkdir(parents=True)
        secret = str(self.directory / "secret")
        plugin = PLUGIN.format(marks=str(self.marks), secret=secret, port=self.site.port)
        (plugins / "evil.py").write_text(plugin)
        (code / "modules/evil/lib/facter").mkdir(parents=True)
        ruby = RUBY_FACT.format(marks=str(self.marks), secret=secret)
        (code / "modules/evil/lib/facter/evil_ruby.rb").write_text(ruby)
        types = code / "modules/evil/lib/puppet/type"
        types.mkdir(parents=True)
        for name, parameters in TYPES.items():
            declared = "".join(f" newparam(:{parameter})\n" for parameter in ("name", *parameters))
            (types / f"{name}.rb").write_text(f"Puppet::Type.newtype(:{name}) do\n{declared}end\n")
        (code / "manifests").mkdir()
        manifest = CODE.format(marks=self.marks, directory=self.directory, port=self.site.port)
        (code / "manifests/site.pp").write_text(manifest)
        self.site.run("env", "deploy", "production", "--from", str(code))

    def precast(self, *words: str) -> str:
        done = self.machine.precast(*words)
        assert done.returncode in (0, 1, 4), done.stderr + done.stdout
        assert "Traceback" not in done.stderr
        return done.stdout

    def release(self) -> None:
        self.precast("agent", "facts")
        end_s = time.monotonic() + 60
        while time.monotonic() < end_s:
            done = self.machine.precast("release", "victim", "--json")
            if done.returncode == 0 and json.loads(done.stdout)["released"]:
                break
        else:
            raise AssertionError(self.machine.precast("catalog", "show", "victim").stdout)
        self.precast("agent", "fetch")

    def left_marks(self) -> set[str]:
        return {path.name for path in self.marks.iterdir()}

    def facts(self, name: str = "evil") -> dict[str, object]:
        done = self.machine.precast("facts", "local", "--json")
        collected = json.loads(done.stdout)
        found = collected.get("facts", collected).get(name)
        assert isinstance(found, dict), done.stderr
        return found

    def look(self, *words: str) -> dict[str, object]:
        reported: dict[str, object] = json.loads(
            self.precast("agent", "apply", "--reason", "released", "--json", *words)
        )
        return reported


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attack]:
    directory = tmp_path_factory.mktemp("attack")
    for place in (directory, directory.parent, directory.parent.parent):
        place.chmod(0o755)  # an unprivileged plug-in could get here, if only its own rights stood in its way
    with Site(directory / "site") as site:
        made = Attack(site, directory)
        made.release()
        yield made


def test_environment_without_a_policy_gets_neither_root_nor_a_secret_nor_a_mark(attack: Attack) -> None:
    facts = attack.facts()
    assert facts["uid"] == facts["euid"] == 65534
    assert facts["groups"] == []
    assert True not in (facts["wrote"], facts["secret"], facts["network"])
    ruby = attack.facts("evil_ruby")
    assert (ruby["uid"], ruby["wrote"], ruby["secret"]) == (65534, False, False)
    assert ruby["asked"], "it sees the facts of the machine"
    attack.precast("agent", "facts")

    reported = json.dumps(attack.look())
    assert attack.left_marks() == set()
    assert SECRET not in reported
    assert not (attack.directory / "new").exists()
    spooled = (attack.machine.agent_state / "state.db").read_bytes()
    spooled += b"".join(path.read_bytes() for path in attack.machine.agent_state.glob("state.db-*"))
    assert SECRET.encode() not in spooled


def test_policy_that_permits_enforcing_lets_the_environment_run_as_root(attack: Attack) -> None:
    attack.site.run("node", "policy", "set", "victim", "--enforce", "always")
    attack.precast("agent", "fetch")
    assert (attack.facts()["uid"], attack.left_marks()) == (os.getuid(), {"plugin", "ruby"})
    assert attack.facts("evil_ruby")["uid"] == os.getuid()
    attack.look("--noop")
    assert attack.left_marks() >= {"onlyif", "unless", "status", "pip"}, "as in Puppet, a no-op run runs guards"


def test_policy_that_was_revoked_ends_that(attack: Attack) -> None:
    attack.site.run("node", "policy", "set", "victim", "--enforce", "never")
    attack.precast("agent", "fetch")
    for path in attack.marks.iterdir():
        path.unlink()
    assert attack.facts()["uid"] == attack.facts("evil_ruby")["uid"] == 65534
    attack.look()
    assert attack.left_marks() == set()
    # A person at the node who asks for a no-op run gets that of Puppet.
    attack.precast("agent", "apply", "--noop", "--json")
    assert "onlyif" in attack.left_marks()
