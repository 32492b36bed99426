"""How often modules run, where somebody says otherwise: `cloud_final_modules: [[scripts-user, always]]` and its kin.

cloud-init's lists say which modules run and in which order, too. Here that follows from the keys that are there and from what modules
declare, so only the frequency of an entry counts.
"""

from collections.abc import Mapping
from typing import Any

from precast.boot.modules.contract import Config, Frequency, Module
from precast.boot.modules.shapes import WRONG, Either, Finding, Items, Path, Text

KEYS = ("cloud_init_modules", "cloud_config_modules", "cloud_final_modules")
_FREQUENCIES = {
    "always": Frequency.BOOT,
    "once": Frequency.ONCE,
    "once-per-instance": Frequency.INSTANCE,
    "instance": Frequency.INSTANCE,
}
# cloud-init's name for a module, where ours has another or there are several.
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
    "runcmd": (),  # there it only writes the script that scripts-user runs
}


class _Entry(Items):
    """The name of a module, and how often it runs."""

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        kept = super().clean(value, path, found)
        if kept is WRONG or len(kept) < 2:
            return kept
        often = Text(tuple(_FREQUENCIES)).clean(kept[1], (*path, 1), found)
        return kept[:1] if often is WRONG else kept


def wanted(config: Config) -> dict[str, Frequency]:
    """Modules of ours that are to run at another frequency."""
    found: dict[str, Frequency] = {}
    for entry in (entry for key in KEYS for entry in config.get(key, ())):
        if not isinstance(entry, list) or len(entry) < 2 or entry[1] not in _FREQUENCIES:
            continue
        name = entry[0].replace("-", "_").removeprefix("cc_")
        found |= dict.fromkeys(_NAMES.get(name, (name,)), _FREQUENCIES[entry[1]])
    return found


def adjusted(modules: list[Module], config: Config) -> list[Module]:
    """The modules, each as often as this configuration wants it."""
    changes = wanted(config)
    return [one._replace(frequency=changes.get(one.name, one.frequency)) for one in modules]


MODULES = (
    Module(
        "frequencies",
        lambda context: context.outcome,
        {key: Items(Either(Text(), _Entry(Text()))) for key in KEYS},
        parts=lambda _: (),  # it is read when the jobs of a boot are made
    ),
)
