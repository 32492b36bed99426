"""Types about message brokers that modules declare and Precast implements: those of rabbitmq."""

from precast.types.declaration import AutoRelation, ManagedType

_ENSURE = "present or absent (present)"
_PROVIDER = "which implementation to use"

RABBITMQ_PLUGIN = ManagedType(
    "rabbitmq_plugin",
    "An enabled plug-in of RabbitMQ.",
    properties={"ensure": _ENSURE},
    parameters={
        "name": "the plug-in; the title if not given",
        "umask": "umask of the command that enables it (0022)",
        "provider": _PROVIDER,
    },
    module="rabbitmq",
)

RABBITMQ_VHOST = ManagedType(
    "rabbitmq_vhost",
    "A virtual host of RabbitMQ.",
    properties={"ensure": _ENSURE},
    parameters={"name": "the virtual host; the title if not given", "provider": _PROVIDER},
    relations=(AutoRelation("service", (), titles=("rabbitmq-server",)),),
    module="rabbitmq",
)

TYPES = (RABBITMQ_PLUGIN, RABBITMQ_VHOST)
