"""Renames the devices of the machine; two may swap names. A device that another process has brought up keeps its name."""

from collections.abc import Iterator, Mapping

from precast.boot.network.devices import netlink, temporary_network


def rename_devices(moves: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield old name, new name, and the reason if the rename failed. A device that cannot be renamed keeps its old name."""
    waiting = []
    for number, (old, new) in enumerate(moves.items()):
        if temporary_network.is_in_use(old):
            yield old, new, "it is in use; it gets the name at the next boot"
            continue
        # Every device gets a temporary name first: its new name may still belong to another device.
        aside = f"precast{number}"
        try:
            netlink.rename_device(old, aside)
            waiting.append((old, new, aside))
        except OSError as error:
            yield old, new, error.strerror or str(error)
    refused = []
    for old, new, aside in waiting:
        try:
            netlink.rename_device(aside, new)
            yield old, new, ""
        except OSError as error:
            refused.append((old, aside))
            yield old, new, error.strerror or str(error)
    for old, aside in refused:
        netlink.rename_device(aside, old)
