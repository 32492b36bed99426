"""`identity`, `path`, `precastversion`: the account and the program that collect these facts."""

from precast import __version__
from precast.agent.facts.machine import Facts, Machine, present


def collect(machine: Machine) -> Facts:
    return present(identity=_identity(machine), path=machine.kernel.variable("PATH"), precastversion=__version__)


def _identity(machine: Machine) -> Facts | None:
    account = machine.kernel.account()
    if account is None:
        return None
    return present(
        uid=account.uid, gid=account.gid, user=account.user, group=account.group, privileged=account.uid == 0
    )
