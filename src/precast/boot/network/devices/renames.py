"""Gives devices that are there other names; two may swap theirs. One that somebody else has brought up keeps its own."""

from collections.abc import Iterator, Mapping

from precast.boot.network.devices import netlink, temporary_network


def rename_devices(moves: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Old name, new name, and the reason if it was not done. A device that could not get its name has its old one."""
    waiting = []
    for number, (old, new) in enumerate(moves.items()):
        if temporary_network.is_in_use(old):
            yield old, new, "it is in use; it gets the name at the next boot"
            continue
        # All step aside first: the name that one shall have may be another's still.
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
