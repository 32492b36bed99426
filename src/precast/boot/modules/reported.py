"""Keys that no module reads: those that are used elsewhere, and those of cloud-init that Precast does not run, with the reason.

The latter are reported one by one, and the rest of the configuration goes on.
"""

_OTHER = "is a configuration manager of its own; install and run it with packages and runcmd, or use Precast"
_SERVICE = "it registers the machine with a service of its vendor; do it in runcmd with that vendor's program"

# Read while user data is put together, while sources are looked for, or for the network.
READ_ELSEWHERE = frozenset(
    {
        "datasource", "datasource_list", "launch-index", "merge_how", "merge_type", "vendor_data", "vendor_data2",
    }
)  # fmt: skip

REPORTED: dict[str, str] = {
    "ansible": f"Ansible {_OTHER}",
    "apk_repos": "write /etc/apk/repositories with write_files",
    "autoinstall": "it is for Ubuntu's installer, which is done when a machine boots",
    "byobu_by_default": "write /etc/profile.d/Z97-byobu.sh with write_files",
    "chef": f"Chef {_OTHER}",
    "def_log_file": "the log of a boot is Precast's own",
    "disable_vmware_customization": "it is for VMware's own customisation, which Precast does not run",
    "drivers": "install them with packages",
    "fan": "write /etc/network/fan with write_files",
    "grub-dpkg": "answer with apt.debconf_selections: grub-pc grub-pc/install_devices multiselect DEVICE",
    "grub_dpkg": "answer with apt.debconf_selections: grub-pc grub-pc/install_devices multiselect DEVICE",
    "landscape": _SERVICE,
    "log_cfgs": "the log of a boot is Precast's own",
    "mcollective": f"MCollective {_OTHER}",
    "migrate": "there is no older state to migrate",
    "network": "give it as the data source's network configuration, or in the image's cloud.cfg: user data comes too late for it",
    "puppet": f"Puppet {_OTHER}",
    "reporting": "precast boot analyze has the timeline, and phone_home tells others",
    "rh_subscription": _SERVICE,
    "rpi": "write /boot/firmware/config.txt with write_files",
    "salt_minion": f"Salt {_OTHER}",
    "spacewalk": _SERVICE,
    "syslog_fix_perms": "the log of a boot is Precast's own",
    "ubuntu_advantage": _SERVICE,
    "ubuntu_pro": _SERVICE,
    "updates": "what changes while the machine runs (hotplug) is not followed",
    "version": "a document has no version",
}
