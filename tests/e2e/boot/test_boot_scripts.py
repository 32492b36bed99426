"""Scripts of the image, the vendor and the user: in cloud-init's order, as often as each kind runs, on the machine and below a root."""

import sys
from pathlib import Path

import pytest

from lab.overlay import OverlayRoot, why_not

REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")

PRECAST = f"{sys.executable} -m precast"
SEED = "/var/lib/cloud/seed/nocloud"
SCRIPTS = "/var/lib/cloud/scripts"
USER_DATA = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="X"

--X
Content-Type: text/x-shellscript

#!/bin/sh
echo part >> /root/order
--X
Content-Type: text/x-shellscript
Content-Disposition: attachment; filename="setup.sh"

#!/bin/sh
echo setup.sh >> /root/order; exit 3
--X
Content-Type: text/x-shellscript
Content-Disposition: attachment; filename="verify.sh"

#!/bin/sh
echo verify.sh >> /root/order
--X
Content-Type: text/x-shellscript-per-boot
Content-Disposition: attachment; filename="mime-boot"

#!/bin/sh
echo mime-boot >> /root/order
--X
Content-Type: text/cloud-config

#cloud-config
runcmd: [echo runcmd >> /root/order]
vendor_data: {prefix: [env, SAID=vendor]}
ssh_deletekeys: false
ssh_genkeytypes: []
users: []
--X--
"""
EVERY_BOOT = ["boot-1", "mime-boot", "z-boot"]
ORDER = ["vendor", "once", *EVERY_BOOT, "instance", "part", "runcmd", "setup.sh", "verify.sh"]
# Below a root: a second copy, which shares nothing with the first but what it was made from.
BELOW = """
set -e
mkdir -p /srv && mount -t tmpfs inside /srv && mkdir /srv/upper /srv/work /srv/inside
cp -a /root/filled/. /srv/upper
mount -t overlay inner -o lowerdir=/base,upperdir=/srv/upper,workdir=/srv/work /srv/inside
mount -t proc proc /srv/inside/proc
{boot} --root /srv/inside > /root/said || true
cp /srv/upper/root/order /root/inside-order
"""


def fill(root: OverlayRoot, below: str = "") -> None:
    root.write(f"{below}{SEED}/meta-data", "instance-id: i-1\n")
    root.write(f"{below}{SEED}/user-data", USER_DATA)
    root.write(f"{below}{SEED}/vendor-data", '#!/bin/sh\necho "$SAID" >> /root/order\n')
    for directory, name in (
        ("per-once", "once"),
        ("per-boot", "boot-1"),
        ("per-boot", "z-boot"),
        ("per-instance", "instance"),
    ):
        root.write(f"{below}{SCRIPTS}/{directory}/{name}", f"#!/bin/sh\necho {name} >> /root/order\n", 0o755)
    root.write(f"{below}{SCRIPTS}/per-boot/README", "no program\n")


def order(root: OverlayRoot, path: str = "/root/order") -> list[str]:
    """Return the scripts that ran since the last call."""
    file = root.written(path)
    words = file.read_text().split() if file.exists() else []
    file.unlink(missing_ok=True)
    return words


def boot(root: OverlayRoot, instance: str = "i-1") -> str:
    """Simulate a reboot: the record belongs to another boot."""
    root.write(f"{SEED}/meta-data", f"instance-id: {instance}\n")
    forget = "rm -f /var/lib/precast/boot/latest.jsonl /var/lib/precast/boot/record.jsonl"
    command = f"{forget}; exec unshare -u -n {PRECAST} boot run --source nocloud"
    return root.run(["sh", "-c", command]).stdout


@pytest.mark.timeout(200)
def test_scripts_run_in_the_order_of_cloud_init_and_as_often_as_their_kind(tmp_path: Path) -> None:
    root = OverlayRoot(tmp_path)
    fill(root)
    said = boot(root)
    assert order(root) == ORDER
    # A failing script is reported, and the others run.
    assert "scripts_after_runcmd: failed: " in said
    assert f"warning: {SCRIPTS}/per-boot/README is not executable, so it is not run" in said
    boot(root)
    assert order(root) == EVERY_BOOT
    boot(root, "i-2")
    assert order(root) == [word for word in ORDER if word != "once"]


@pytest.mark.timeout(200)
def test_scripts_of_the_user_run_at_every_boot_if_a_list_of_cloud_init_says_so(tmp_path: Path) -> None:
    root = OverlayRoot(tmp_path)
    fill(root)
    often = USER_DATA.replace("#cloud-config\n", "#cloud-config\ncloud_final_modules: [[scripts-user, always]]\n")
    root.write(f"{SEED}/user-data", often)
    boot(root)
    assert order(root) == ORDER
    boot(root)
    assert order(root) == [*EVERY_BOOT, *ORDER[ORDER.index("part") :]]


@pytest.mark.timeout(200)
def test_scripts_below_a_root_run_inside_it(tmp_path: Path) -> None:
    root = OverlayRoot(tmp_path)
    fill(root, "/root/filled")
    root.written("/base").mkdir()
    script = BELOW.format(boot=f"unshare -u -n {PRECAST} boot run --source nocloud")
    root.write("/root/below.sh", script)
    done = root.run(["sh", "-c", "mount --bind / /base && sh -ex /root/below.sh"])
    assert order(root, "/root/inside-order") == ORDER, done.stdout + root.read("/root/said")
    assert order(root) == []
