"""Changes how often modules run, as the configuration requests: `cloud_final_modules: [[scripts-user, always]]` and similar lists.

In cloud-init these lists also decide which modules run and in which order. Here the configured keys and the declarations of the modules
decide that, so only the frequency of an entry counts.
"""

from collections.abc import Mapping
from typing import Any

from precast.boot.modules.contract import Config, Frequency, Module
from precast.boot.modules.schema import INVALID, Either, Finding, Items, Path, Text

KEYS = ("cloud_init_modules", "cloud_config_modules", "cloud_final_modules")
_FREQUENCIES = {
    "always": Frequency.BOOT,
    "once": Frequency.ONCE,
    "once-per-instance": Frequency.INSTANCE,
    "instance": Frequency.INSTANCE,
}
# cloud-init's name of a module, where ours has another name or is split into several modules.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "users_groups": ("groups", "users", "group_members"),
    "set_passwords": ("passwords",),
    "set_hostname": ("hostname",),
    "update_hostname": ("hostname",),
    "update_etc_hosts": ("etc_hosts",),
    "package_update_upgrade_install": ("packages",),
    "apt_configure": ("apt",),
    "yum_add_repo": ("yum_repos",),
    "zypper_add_repo": ("zypper",),
    "seed_random": ("random_seed",),
    "power_state_change": ("power_state",),
    "scripts_user": ("scripts", "runcmd", "scripts_after_runcmd"),
    "scripts_per_once": ("scripts_once",),
    "scripts_per_boot": ("scripts_boot",),
    "scripts_per_instance": ("scripts_instance",),
    "runcmd": (),  # in cloud-init it only writes the script that scripts-user runs
}


class _Entry(Items):
    """The name of a module, and how often it runs."""

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        kept = super().clean(value, path, findings)
        if kept is INVALID or len(kept) < 2:
            return kept
        frequency = Text(tuple(_FREQUENCIES)).clean(kept[1], (*path, 1), findings)
        return kept[:1] if frequency is INVALID else kept


def read_frequencies(config: Config) -> dict[str, Frequency]:
    """Return the frequencies that the configuration requests, by the names of our modules."""
    frequencies: dict[str, Frequency] = {}
    for entry in (entry for key in KEYS for entry in config.get(key, ())):
        if not isinstance(entry, list) or len(entry) < 2 or entry[1] not in _FREQUENCIES:
            continue
        name = entry[0].replace("-", "_").removeprefix("cc_")
        frequencies |= dict.fromkeys(_NAMES.get(name, (name,)), _FREQUENCIES[entry[1]])
    return frequencies


def apply_frequencies(modules: list[Module], config: Config) -> list[Module]:
    """Return the modules with the frequencies that the configuration requests."""
    frequencies = read_frequencies(config)
    return [module._replace(frequency=frequencies.get(module.name, module.frequency)) for module in modules]


MODULES = (
    Module(
        "frequencies",
        lambda context: context.outcome,
        {key: Items(Either(Text(), _Entry(Text()))) for key in KEYS},
        parts=lambda _: (),  # the loop reads these keys when it plans the module runs of a boot
    ),
)
