"""Which types of modules are settings of a file: OpenStack's own, and what one change of their code does."""

from collections.abc import Callable
from pathlib import Path

import pytest

from precast.agent.applying.machine import Machine
from precast.agent.applying.plan import make_plan
from precast.base.clock import ManualClock
from precast.catalog.source_map import SourceMap
from precast.lang.ruby.declarations.config_files import read_config_file
from precast.lang.ruby.declarations.ruby_file import RubyFile, load_ruby_file
from precast.lang.ruby.declarations.types import read_type
from precast.types import config_files
from precast.types.application import BRIDGED, how_applied
from precast.types.catalog_check import check_catalog
from precast.types.declaration import AutoRelation, ConfigFileType
from tests.unit.lang.small_manifests import asked, compiled

MODULES = Path("/usr/share/puppet/modules")
pytestmark = pytest.mark.skipif(
    not (MODULES / "nova").is_dir(), reason="needs openstack-puppet-modules (a Debian package)"
)
TYPE = "puppet/type/nova_config.rb"
PROVIDER = "puppet/provider/nova_config/openstackconfig.rb"
PARENT = "puppet/provider/openstack_config/ruby.rb"
Edit = Callable[[str], str]


def find_text(path: str) -> str | None:
    return next((place.read_text() for place in sorted(MODULES.glob(f"*/lib/{path}"))), None)


def recognise(name: str, edits: dict[str, Edit] | None = None, *more_providers: str) -> ConfigFileType | None:
    """What a type of Debian's modules is, if some of its files are changed."""

    def find_file(path: str) -> RubyFile | None:
        text = find_text(path)
        if text is None:
            return None
        edit = (edits or {}).get(path)
        changed = text if edit is None else edit(text)
        assert edit is None or changed != text
        return load_ruby_file(path, changed, changed)

    file = find_file(f"puppet/type/{name}.rb")
    assert file is not None
    providers = [place.name for place in MODULES.glob(f"*/lib/puppet/provider/{name}/*.rb")]
    return read_config_file(read_type(name, file, find_file), file, [*providers, *more_providers], find_file)


def replacing(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


def test_type_of_openstack_is_recognised_with_its_choices() -> None:
    assert recognise("nova_config") == ConfigFileType(
        path="/etc/nova/nova.conf",
        is_listed=True,
        syntax="multiple",
        name_pattern=r"\S+/\S+",
        booleans="capitalize",
        absent_value="<SERVICE DEFAULT>",
        keeps_immutable=True,
        shows_bare=True,
        attributes=("ensure", "ensure_absent_val", "name", "secret", "value"),
        relations=(AutoRelation("anchor", (), titles=("nova::install::end",)),),
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ceph_config", {"path": "/etc/ceph/ceph.conf", "may_move": True, "separator": " = ", "booleans": "lower"}),
        ("tempest_config", {"path": "", "may_move": True, "is_listed": False}),
        ("virtlogd_config", {"path": "/etc/libvirt/virtlogd.conf", "has_sections": False, "takes_quote": True}),
        ("nova_api_paste_ini", {"takes_separator": True, "syntax": "single"}),
        ("keystone_uwsgi_config", {"path": "/etc/keystone/keystone-uwsgi.ini", "shows_bare": True}),
        ("barbican_config", {"path": "/etc/barbican/barbican.conf", "is_listed": False}),
        ("ironic_config", {"attributes": ("ensure", "ensure_absent_val", "name", "secret", "value")}),
    ],
)
def test_types_differ_in_what_their_files_say(name: str, expected: dict[str, object]) -> None:
    found = recognise(name)
    assert {key: getattr(found, key) for key in expected} == expected


@pytest.mark.parametrize("name", ["keystone_domain_config", "neutron_bgpvpn_bagpipe_config", "ini_setting"])
def test_type_that_deviates_is_not_recognised(name: str) -> None:
    assert recognise(name) is None


@pytest.mark.parametrize(
    "edits",
    [
        {PROVIDER: replacing("def self.file_path", "def exists?\n true\n end\n def self.file_path")},
        {PROVIDER: replacing("'/etc/nova/nova.conf'", "Facter.value(:path)")},
        {PROVIDER: replacing("provider(:ruby)", "provider(:new)")},
        {PROVIDER: replacing(":openstack_config)", ":other_config)")},
        {PROVIDER: replacing("Puppet::Type", "Other.run\nPuppet::Type")},
        {TYPE: replacing("value.to_s.strip", "value.to_s")},
        {TYPE: replacing("capitalize!", "swapcase!")},
        {TYPE: replacing("newvalues(/\\S+\\/\\S+/)", "newvalues(/\\h+\\/\\S+/)")},
        {TYPE: replacing("ensurable", "ensurable\n validate do\n raise 'x' if self[:value] == 'y'\n end")},
        {TYPE: replacing("ensurable", "ensurable\n newparam(:other) do\n end")},
        {TYPE: replacing("defaultto('<SERVICE DEFAULT>')", "defaultto { Facter.value(:x) }")},
        {TYPE: replacing(", :array_matching => :all", "")},
        {PARENT: replacing("config.save", "config.save\n puts 1")},
        {"puppet/util/openstackconfig/section.rb": replacing("offset = current", "offset = current + 1")},
    ],
)
def test_unknown_statement_ends_the_recognition(edits: dict[str, Edit]) -> None:
    assert recognise("nova_config", edits) is None


def test_type_with_two_providers_is_not_recognised() -> None:
    assert recognise("nova_config", None, "other.rb") is None


def test_layout_comments_and_newer_hashes_change_nothing() -> None:
    edits = {
        PROVIDER: replacing(":parent =>", "parent:"),
        TYPE: lambda text: "# frozen_string_literal: true\n\n" + text.replace("  ", "\t"),
    }
    assert recognise("nova_config", edits) == recognise("nova_config")


def test_nearly_all_types_of_debians_openstack_modules_are_recognised() -> None:
    names = [path.stem for path in MODULES.glob("*/lib/puppet/type/*.rb") if "ensure_absent_val" in path.read_text()]
    unknown = [name for name in names if recognise(name) is None]
    assert len(names) > 100
    assert unknown == ["neutron_bgpvpn_bagpipe_config"]


def files_of(*modules: str) -> dict[str, str]:
    places = [place for module in modules for place in (MODULES / module / "lib/puppet").rglob("*.rb")]
    return {f"modules/{place.relative_to(MODULES)}": place.read_text() for place in places}


def test_catalog_says_how_a_node_applies_the_types_in_it() -> None:
    files = files_of("nova", "openstacklib", "inifile")
    result = compiled("nova_config { 'DEFAULT/debug': value => true }\nnotify { 'x': }", files)
    assert config_files.of_data(result.body.types) == {"nova_config": recognise("nova_config")}
    assert check_catalog(result.body, SourceMap({}), result.types) == ()
    # A changed provider changes the catalog, so a compile asks for the providers.
    paths = [question.get("path") for question in asked(result)]
    assert "modules/nova/lib/puppet/provider/nova_config" in paths
    assert "modules/nova/lib/puppet/provider/nova_config/openstackconfig.rb" in paths
    assert compiled("notify { 'x': }", files).body.types == {}


def test_catalog_with_a_type_that_deviates_says_that_only_its_module_applies_it() -> None:
    files = files_of("nova", "openstacklib", "inifile")
    files["modules/nova/lib/puppet/provider/nova_config/openstackconfig.rb"] += "\nputs 1\n"
    result = compiled("nova_config { 'DEFAULT/debug': value => true }", files)
    assert result.body.types == {}
    assert how_applied(result.types["nova_config"]) == BRIDGED


def test_purged_type_is_known_although_no_resource_has_it() -> None:
    result = compiled("resources { 'nova_config': purge => true }", files_of("nova", "openstacklib", "inifile"))
    assert list(result.body.types) == ["nova_config"]


def test_parameter_that_no_node_knows_is_a_problem_of_the_catalog() -> None:
    files = files_of("ironic", "openstacklib", "inifile", "postgresql")
    path = "modules/postgresql/lib/puppet/type/postgresql_psql.rb"
    files[path] = files[path].replace("newparam(:db) do", "newparam(:new) do\n end\n newparam(:db) do", 1)
    code = """
    ironic_config { 'a/b': value => 'x', transform_to => 'net_uuid' }
    ironic_config { 'a/c': value => 'x' }
    postgresql_psql { 'x': new => 1, db => 'y', tag => 'z' }
    """
    result = compiled(code, files)
    problems = check_catalog(result.body, SourceMap({}), result.types)
    # What Precast's own postgresql_psql does not know goes through the bridge.
    assert [(problem.code, problem.text.split(" own ")[1]) for problem in problems] == [
        ("CATALOG-008", "ironic_config has no parameter transform_to: Ironic_config[a/b]"),
    ]
    plan = make_plan(result.body, None, Machine("", "", ManualClock()))
    failed = {ref for ref, planned in plan.resources.items() if "has no parameter" in str(planned.problem)}
    assert failed == {"Ironic_config[a/b]"}
