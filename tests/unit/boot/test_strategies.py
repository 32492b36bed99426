"""Search strategies over any iterable of sources, the facade, and the choice of sources before any is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from precast.base.errors import InputError
from precast.boot import image, source_choice
from precast.boot.capabilities import Capability
from precast.boot.facade import Facade
from precast.boot.modules import registry as modules
from precast.boot.settings import BootSettings
from precast.boot.sources import evidence, firmware, registry
from precast.boot.sources.contract import Evidence, Plausibility, Source, SourceData
from precast.boot.sources.machine import Machine
from precast.boot.strategies.by_capability import ByCapability
from precast.boot.strategies.parallel import Parallel
from precast.boot.strategies.serial import Serial
from precast.boot.trust import VerdictKind
from tests.unit.boot.scenes import ScriptedSource, data

SLASH = Path("/")


async def test_parallel_yields_each_as_it_ends(tmp_path: Path) -> None:
    sources = [ScriptedSource("a", 1, data()), ScriptedSource("b", 2, None), ScriptedSource("c", 3, data())]

    def stream() -> Iterator[Source]:
        yield from sources

    seen = []
    sources[2].now()
    async for source, answer in Parallel().search(stream(), Machine(tmp_path, Evidence())):
        seen.append((source.name, answer.detected is not None))
        sources[{"c": 1, "b": 0, "a": 0}[source.name]].now()
    assert seen == [("c", True), ("b", False), ("a", True)]


async def test_parallel_that_is_left_early_asks_no_further(tmp_path: Path) -> None:
    slow = ScriptedSource("slow", 1, data())
    search = Parallel().search([slow, ScriptedSource("quick", 2, data()).now()], Machine(tmp_path, Evidence()))
    source, _ = await anext(search)
    assert source.name == "quick"
    await search.aclose()  # type: ignore[attr-defined]
    assert slow.was_cancelled


async def test_serial_asks_the_next_only_when_it_is_wanted(tmp_path: Path) -> None:
    first, second = ScriptedSource("first", 1, data()).now(), ScriptedSource("second", 9, data()).now()
    search = Serial().search([first, second], Machine(tmp_path, Evidence()))
    source, _ = await anext(search)
    assert source.name == "first"
    assert not second.was_asked.is_set()


async def test_facade_answers_before_discovery_has_ended_and_waits_where_it_must() -> None:
    claims = frozenset({Capability.INSTANCE_ID, Capability.USER_DATA})
    high = ScriptedSource("high", 9, data("i-9", user_data=b"high"), claims)
    low = ScriptedSource("low", 1, data("i-1", user_data=b"low", zone="z"))
    facade = Facade([high, low])
    facade.note_answer("low", SourceData("test low", data("i-1", user_data=b"low", zone="z")))
    assert facade.verdict(Capability.ZONE).answer == VerdictKind.GIVEN
    assert await facade.fetch(Capability.ZONE) == "z"
    assert facade.verdict(Capability.USER_DATA).answer == VerdictKind.HELD
    assert await facade.fetch(Capability.USER_DATA) is None
    facade.note_answer("high", SourceData("test high", data("i-9", user_data=b"high")))
    assert facade.verdict(Capability.USER_DATA).answer == VerdictKind.GIVEN
    assert await facade.fetch(Capability.USER_DATA) == b"high"
    assert facade.verdict(Capability.ZONE).source == "low"  # a value that was given once stays
    assert facade.verdict(Capability.REGION).answer == VerdictKind.MISSING


def test_by_capability_loads_none_if_none_is_needed() -> None:
    keys = ScriptedSource("keys", 1, declares=frozenset({Capability.INSTANCE_ID, Capability.PUBLIC_KEYS}))
    zone = ScriptedSource("zone", 1, declares=frozenset({Capability.ZONE}))
    assert ByCapability(()).select([keys, zone]) == ([], [keys, zone])
    assert ByCapability({Capability.ZONE}).select([keys, zone]) == ([keys, zone], [])
    assert ByCapability({Capability.PUBLIC_KEYS}).select([keys, zone]) == ([keys], [zone])


@pytest.mark.parametrize(
    ("platform", "dmi"),
    [
        ("azure", {"sys_vendor": "Microsoft Corporation", "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77"}),
        ("gce", {"sys_vendor": "Google", "product_name": "Google Compute Engine"}),
        ("digitalocean", {"sys_vendor": "DigitalOcean"}),
        ("hetzner", {"sys_vendor": "Hetzner"}),
        ("oracle", {"sys_vendor": "QEMU", "chassis_asset_tag": "OracleCloud.com"}),
        ("vultr", {"sys_vendor": "Vultr"}),
        ("openstack", {"sys_vendor": "OpenStack Foundation", "product_name": "OpenStack Nova"}),
        ("ec2", {"sys_vendor": "Amazon EC2"}),
        ("ec2", {"sys_vendor": "Xen", "product_uuid": "EC2E1916-9099-7CAF-FD21-012345ABCDEF"}),
        ("vmware", {"sys_vendor": "VMware, Inc."}),
    ],
)
def test_firmware_that_names_a_platform_rules_out_the_others(platform: str, dmi: dict[str, str]) -> None:
    choice = source_choice.choose_sources(BootSettings(), Evidence(dmi=dmi), SLASH)
    assert choice.confirmed == [platform]
    assert {source.name for source in choice.sources} == {platform, "nocloud", "nocloud-net", "configdrive"}
    assert choice.chosen[0].source.name == platform


def test_unknown_firmware_leaves_only_platforms_that_are_imitated() -> None:
    choice = source_choice.choose_sources(BootSettings(), Evidence(dmi={"sys_vendor": "QEMU"}), SLASH)
    assert {source.name for source in choice.sources} == {"nocloud", "nocloud-net", "configdrive", *firmware.IMITATED}


def test_kernel_command_line_that_names_a_source_rules_out_all_others() -> None:
    choice = source_choice.choose_sources(BootSettings(), Evidence(command_line="ro ds=ec2 quiet"), SLASH)
    assert choice.confirmed == ["ec2"]
    assert [source.name for source in choice.sources] == ["ec2"]


def test_list_of_the_image_is_followed_in_cloud_inits_words_too() -> None:
    choice = source_choice.choose_sources(
        BootSettings(), Evidence(), SLASH, {"datasource_list": ["NoCloud", "Ec2", "None"]}
    )
    assert {source.name for source in choice.sources} == {"nocloud", "nocloud-net", "ec2"}


def test_address_that_the_image_names_for_cloud_init_is_followed(tmp_path: Path) -> None:
    (tmp_path / "etc/cloud/cloud.cfg.d").mkdir(parents=True)
    (tmp_path / "etc/cloud/cloud.cfg").write_text(
        "datasource_list: [Ec2]\ndatasource: {Ec2: {metadata_urls: ['http://a/']}}\n"
    )
    (tmp_path / "etc/cloud/cloud.cfg.d/90.cfg").write_text("datasource_list: [NoCloud]\n")
    (tmp_path / "etc/cloud/cloud.cfg.d/95.cfg").write_text("datasource: {NoCloud: {seedfrom: 'http://b/'}}\n")
    said = image.read(tmp_path)
    assert image.read_source_list(said) == ["NoCloud"]
    assert image.read_addresses(said) == {"nocloud-net": "http://b/", "ec2": "http://a/"}
    assert source_choice.choose_sources(BootSettings(), Evidence(), tmp_path, said).confirmed == ["nocloud-net"]


def test_image_that_is_no_map_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "etc/cloud").mkdir(parents=True)
    (tmp_path / "etc/cloud/cloud.cfg").write_text("- a\n")
    with pytest.raises(InputError, match=r"cloud.cfg should be a map, but is a list"):
        image.read(tmp_path)


def test_scratch_root_asks_only_what_lies_in_it_unless_named(tmp_path: Path) -> None:
    evidence_found = evidence.collect(tmp_path)
    assert all(
        not source.needs_network
        for source in source_choice.choose_sources(BootSettings(), evidence_found, tmp_path).sources
    )
    named = source_choice.choose_sources(BootSettings(addresses=("ec2=http://127.0.0.1:1/",)), evidence_found, tmp_path)
    assert "ec2" in {source.name for source in named.sources}


def test_deadline_of_a_source_can_be_set() -> None:
    choice = source_choice.choose_sources(BootSettings(deadlines=("ec2=0.5",)), Evidence(), SLASH)
    assert {source.name: source.deadline_s for source in choice.sources}["ec2"] == 0.5


@pytest.mark.parametrize(
    "settings",
    [
        BootSettings(sources=("ec3",)),
        BootSettings(trusted_sources=("nocloudd",)),
        BootSettings(addresses=("ec2",)),
        BootSettings(deadlines=("ec2=soon",)),
        BootSettings(deadlines=("ec2=-1",)),
    ],
)
def test_wrong_setting_is_refused(settings: BootSettings) -> None:
    with pytest.raises(InputError):
        source_choice.choose_sources(settings, Evidence(), SLASH)


def test_evidence_is_read_below_the_root(tmp_path: Path) -> None:
    place = tmp_path / "sys/class/dmi/id"
    place.mkdir(parents=True)
    (place / "sys_vendor").write_text("Amazon EC2\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cmdline").write_text("ro ds=nocloud;h=x\n")
    evidence_found = evidence.collect(tmp_path)
    assert evidence_found.dmi == {"sys_vendor": "Amazon EC2"}
    assert firmware.find_named_source(evidence_found) == firmware.NamedSource(
        "nocloud", {"h": "x"}, "the kernel command line"
    )


def test_every_source_declares_what_the_rules_rest_on() -> None:
    sources = [registry.make_source(name) for name in registry.SOURCE_CLASSES]
    assert [source.name for source in sources] == list(registry.SOURCE_CLASSES)
    assert len({source.rank for source in sources}) == len(sources)
    for source in sources:
        assert Capability.INSTANCE_ID in source.capabilities
        assert 0 < source.deadline_s <= 60
        assert source.likelihood(Evidence()).plausibility in Plausibility


def test_modules_that_come_after_each_other_form_no_circle() -> None:
    import graphlib

    known = {module.name for module in modules.list_modules()}
    graph = {module.name: [dependency.module for dependency in module.after] for module in modules.list_modules()}
    assert {name for names in graph.values() for name in names} <= known
    graphlib.TopologicalSorter(graph).prepare()
    assert all(dependency.reason for module in modules.list_modules() for dependency in module.after)
