"""Entry points: what a compile of one gives is what `puppet apply FILE` applies, with the modules and the data of the environment.

Functions of the environment itself (`environment::name`) are not compared: `puppet apply` does not find them, and an entry point does.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.server_process import PRECAST

NODE = "web1.example.com"
DEADLINE_S = 120.0
OUT = "@OUT@"

pytestmark = pytest.mark.skipif(shutil.which("puppet") is None, reason="real Puppet is not installed (puppet-agent)")

ENVIRONMENT = {
    "environment.conf": "modulepath = site:modules\nmanifest = manifests\n",
    "hiera.yaml": "version: 5\nhierarchy:\n  - {name: node, path: 'nodes/%{trusted.certname}.yaml'}\n"
    "  - {name: common, path: common.yaml}\n",
    "data/common.yaml": "web::port: 80\nmotd: common\n",
    f"data/nodes/{NODE}.yaml": "motd: of the node\n",
    "manifests/site.pp": "$from_site = 'site'\nclass in_site { }\n"
    f"node default {{ file {{ '{OUT}/site': content => 'site' }} }}\n",
    "site/own/manifests/init.pp": f"class own {{ file {{ '{OUT}/own': content => $module_name }} }}\n",
    "modules/web/files/page": "a page\n",
    "modules/web/manifests/init.pp": f"class web(Integer $port) {{ file {{ '{OUT}/web': content => \"${{port}} ${{title}}\" }} }}\n",
    "modules/web/manifests/part.pp": f'define web::part($text) {{ file {{ "{OUT}/${{name}}": content => $text }} }}\n',
}
ENTRIES = {
    "modules/web/examples/class.pp": "include web\n",
    "modules/web/examples/define.pp": "web::part { 'a': text => lookup('motd') }\n",
    "modules/web/examples/module_name.pp": f"file {{ '{OUT}/name': content => \"<${{module_name}}> ${{name}} ${{title}}\" }}\n",
    "plans/other_module.pp": "include own\n",
    "plans/node_block.pp": f"node /^(web\\d)\\./ {{ file {{ '{OUT}/block': content => $1 }} }}\nnode default {{ }}\n",
    "plans/no_node_block.pp": "node 'another' { }\n",
    "plans/from_site.pp": f"file {{ '{OUT}/x': content => \"<${{from_site}}>\" }}\n",
    "plans/class_of_site.pp": "include in_site\n",
    "plans/own_class.pp": f"class here {{ file {{ '{OUT}/here': content => file('web/page') }} }}\ninclude here\n",
    "plans/settings.pp": f"file {{ '{OUT}/settings': content => $settings::environment }}\n",
    "plans/missing_class.pp": "include web::missing\n",
    "plans/syntax.pp": "file { 'x': content => }\n",
    "modules/web/manifests/init.pp": "",  # the file of the environment: it only defines a class
}


def write_environment(root: Path, out: Path) -> Path:
    environment = root / "environments" / "production"
    for path, text in {**ENTRIES, **ENVIRONMENT}.items():
        place = environment / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text.replace(OUT, str(out)))
    return environment


def apply_by_puppet(root: Path, environment: Path, entry: str, out: Path) -> dict[str, str] | None:
    """The files that Puppet has written; None if the entry point does not compile."""
    state = root / "puppet"
    directories = [
        f"--{name}={state / name}" for name in ("confdir", "vardir", "ssldir", "publicdir", "logdir", "rundir")
    ]
    out.mkdir()
    state.mkdir(exist_ok=True)
    command = ["puppet", "apply", *directories, f"--environmentpath={environment.parent}", "--environment=production"]
    done = subprocess.run(
        [*command, f"--certname={NODE}", "--color=false", str(environment / entry)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    is_compiled = re.search(r"Compiled catalog for", done.stdout) is not None
    assert is_compiled or "Error" in done.stderr, done.stderr
    found = {path.name: path.read_text() for path in out.iterdir()}
    shutil.rmtree(out)
    return found if is_compiled else None


def compile_by_precast(environment: Path, entry: str, out: Path) -> dict[str, str] | None:
    done = subprocess.run(
        [PRECAST, "compile", "--environment", environment, "--node", NODE, "--entry", entry, "--json"],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    if done.returncode:
        assert "Traceback" not in done.stderr
        return None
    resources = json.loads(done.stdout)["resources"]
    return {
        Path(resource["title"]).name: resource["parameters"]["content"]
        for resource in resources
        if resource["type"] == "File" and resource["title"].startswith(f"{out}/")
    }


@pytest.mark.timeout(600)  # Puppet takes seconds to start
def test_entry_points_give_what_puppet_apply_gives(tmp_path: Path) -> None:
    out = tmp_path / "out"
    environment = write_environment(tmp_path, out)
    ours = {entry: compile_by_precast(environment, entry, out) for entry in ENTRIES}
    puppets = {entry: apply_by_puppet(tmp_path, environment, entry, out) for entry in ENTRIES}
    assert ours == puppets
    assert sum(files is None for files in puppets.values()) == 4
