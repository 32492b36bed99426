"""Images are read without mounting them: by any user, on any kernel, and also if they are malformed.

`images/` has one of genisoimage (Rock Ridge) and one of mkfs.vfat and mcopy (12 bits), with a NoCloud seed and a ConfigDrive in each.
"""

import gzip
from pathlib import Path
from random import Random

import pytest

from precast.base.errors import InputError, PrecastError
from precast.boot.capabilities import Capability
from precast.boot.sources import labels
from precast.boot.sources.configdrive import ConfigDrive
from precast.boot.sources.contract import Evidence, InjectedFile
from precast.boot.sources.machine import Machine
from precast.boot.sources.nocloud import NoCloud

IMAGES = Path(__file__).parent / "images"
KINDS = ["iso", "fat"]


@pytest.fixture(params=KINDS)
def image(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    place = tmp_path / "seed.img"
    place.write_bytes(gzip.decompress((IMAGES / f"seed.{request.param}.gz").read_bytes()))
    return place


def machine(tmp_path: Path, image: Path) -> Machine:
    return Machine(tmp_path, Evidence(labels={"cidata": image, "config-2": image}))


async def test_seed_on_an_image_is_read_without_mounting(image: Path, tmp_path: Path) -> None:
    detected = await NoCloud().find(machine(tmp_path, image))
    assert detected is not None
    assert detected.instance_id == "on-disk"
    assert await detected.get(Capability.USER_DATA) == b"#cloud-config\nhostname: seeded\n"
    assert labels.read_label(image) == "cidata"


async def test_config_drive_on_an_image_has_its_directories(image: Path, tmp_path: Path) -> None:
    detected = await ConfigDrive().find(machine(tmp_path, image))
    assert detected is not None
    assert detected.instance_id == "u-7"
    assert await detected.get(Capability.FILES) == (InjectedFile("/etc/x", b"content\n"),)
    assert Capability.NETWORK_CONFIG not in detected.capabilities


async def test_file_that_is_larger_than_allowed_is_refused(image: Path, tmp_path: Path) -> None:
    async with machine(tmp_path, image).mounted(image) as disk:
        assert disk.read("/meta-data") is not None
        assert disk.read("no/such") is None
        assert disk.read("openstack") is None
        assert disk.read("../../etc/passwd") is None
        with pytest.raises(InputError, match=r"/meta-data on .* is larger than 3 bytes"):
            disk.read("/meta-data", 3)


@pytest.mark.parametrize("seed", range(40))
async def test_damaged_image_is_refused_or_read_and_nothing_else(image: Path, tmp_path: Path, seed: int) -> None:
    """Random bytes in directories and tables are changed, which gives invalid offsets and cyclic chains."""
    random = Random(seed)
    data = bytearray(image.read_bytes())
    used = [at for at, byte in enumerate(data) if byte]
    for at in random.sample(used, 60):
        data[at] = random.randrange(256)
    image.write_bytes(data[: random.choice([len(data), len(data) // 2, 40_000])])
    for source in (NoCloud(), ConfigDrive()):
        try:
            detected = await source.find(machine(tmp_path, image))
        except PrecastError as error:
            assert "\n" not in error.message  # noqa: PT017 - it may also be read
        else:
            assert detected is None or detected.instance_id
