"""Lists the keys that no module reads: keys that other parts of the boot read, and keys of cloud-init that Precast does not support.

Each unsupported key is reported with its reason, and the rest of the configuration is applied.
"""

_OTHER = "is a separate configuration manager; install and run it with packages and runcmd, or use Precast"
_SERVICE = "this key registers the machine with its vendor's service; run that vendor's program in runcmd"

# Read while user data is merged, while data sources are searched, or for the network configuration.
READ_ELSEWHERE = frozenset(
    {
        "datasource", "datasource_list", "launch-index", "merge_how", "merge_type", "vendor_data", "vendor_data2",
    }
)  # fmt: skip

UNSUPPORTED: dict[str, str] = {
    "ansible": f"Ansible {_OTHER}",
    "apk_repos": "write /etc/apk/repositories with write_files",
    "autoinstall": "this key is for Ubuntu's installer, which has finished when a machine boots",
    "byobu_by_default": "write /etc/profile.d/Z97-byobu.sh with write_files",
    "chef": f"Chef {_OTHER}",
    "def_log_file": "Precast writes its own log of the boot",
    "disable_vmware_customization": "this key is for VMware's own customisation, which Precast does not run",
    "drivers": "install them with packages",
    "fan": "write /etc/network/fan with write_files",
    "grub-dpkg": "answer with apt.debconf_selections: grub-pc grub-pc/install_devices multiselect DEVICE",
    "grub_dpkg": "answer with apt.debconf_selections: grub-pc grub-pc/install_devices multiselect DEVICE",
    "landscape": _SERVICE,
    "log_cfgs": "Precast writes its own log of the boot",
    "mcollective": f"MCollective {_OTHER}",
    "migrate": "Precast has no older state to migrate",
    "network": "put it in the data source's network configuration or in the image's cloud.cfg: user data is read too late for it",
    "puppet": f"Puppet {_OTHER}",
    "reporting": "precast boot analyze shows the timeline, and phone_home notifies another server",
    "rh_subscription": _SERVICE,
    "rpi": "write /boot/firmware/config.txt with write_files",
    "salt_minion": f"Salt {_OTHER}",
    "spacewalk": _SERVICE,
    "syslog_fix_perms": "Precast writes its own log of the boot",
    "ubuntu_advantage": _SERVICE,
    "ubuntu_pro": _SERVICE,
    "updates": "Precast does not react to hotplug events while the machine runs",
    "version": "documents have no version",
}
