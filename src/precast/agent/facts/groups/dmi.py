"""`dmi`: the hardware as the firmware describes it. Serial numbers and the UUID are readable by root only."""

from precast.agent.facts.machine import Facts, Machine, present

_PLACE = "/sys/class/dmi/id"
# SMBIOS 3.x, 7.4.1, numbered from 1.
_CHASSIS = (
    "Other", "Unknown", "Desktop", "Low Profile Desktop", "Pizza Box", "Mini Tower", "Tower", "Portable", "Laptop", "Notebook",
    "Hand Held", "Docking Station", "All in One", "Sub Notebook", "Space-Saving", "Lunch Box", "Main System Chassis",
    "Expansion Chassis", "SubChassis", "Bus Expansion Chassis", "Peripheral Chassis", "Storage Chassis", "Rack Mount Chassis",
    "Sealed-Case PC", "Multi-system", "CompactPCI", "AdvancedTCA", "Blade", "Blade Enclosure", "Tablet", "Convertible", "Detachable",
)  # fmt: skip


def collect(machine: Machine) -> Facts:
    facts = present(
        manufacturer=entry(machine, "sys_vendor"),
        bios=_group(machine, vendor="bios_vendor", version="bios_version", release_date="bios_date"),
        board=_group(
            machine,
            manufacturer="board_vendor",
            product="board_name",
            serial_number="board_serial",
            asset_tag="board_asset_tag",
        ),
        chassis=present(type=_chassis(machine), asset_tag=entry(machine, "chassis_asset_tag")) or None,
        product=_group(machine, name="product_name", serial_number="product_serial", uuid="product_uuid"),
    )
    return {"dmi": facts} if facts else {}


def entry(machine: Machine, name: str) -> str | None:
    return machine.read_line(f"{_PLACE}/{name}")


def _group(machine: Machine, **files: str) -> Facts | None:
    return present(**{name: entry(machine, file) for name, file in files.items()}) or None


def _chassis(machine: Machine) -> str | None:
    number = machine.read_number(f"{_PLACE}/chassis_type")
    return _CHASSIS[number - 1] if number is not None and 1 <= number <= len(_CHASSIS) else None
