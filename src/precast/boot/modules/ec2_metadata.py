"""disable_ec2_metadata: blocks the route to the platform's metadata service."""

from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Frequency, Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Flag

_METADATA, _METADATA_6 = "169.254.169.254", "fd00:ec2::254"
_IPV6 = "/proc/net/if_inet6"  # does not exist if the kernel has no IPv6


def block_metadata(context: ModuleContext) -> ModuleOutcome:
    """Block the service for every process of the machine. The next boot can reach it until this module runs again."""
    if not context.config["disable_ec2_metadata"]:
        context.outcome.not_run = "disable_ec2_metadata is false"
    elif context.machine.root:
        context.outcome.not_run = "only the machine itself has routes, not a root"
    else:
        context.must_run(["ip", "route", "replace", "prohibit", _METADATA], deadline_s=30)
        if context.exists(_IPV6):
            context.must_run(["ip", "-6", "route", "replace", "prohibit", _METADATA_6], deadline_s=30)
    return context.outcome


MODULES = (
    Module(
        "disable_ec2_metadata",
        block_metadata,
        {"disable_ec2_metadata": Flag()},
        stage=Stage.FINAL,  # every stage may query the data sources
        frequency=Frequency.BOOT,
        after=tuple(
            Predecessor(name, "this module calls the platform")
            for name in ("post_password", "platform_certificates", "report_ready")
        ),
    ),
)
