"""Types that organise a catalog instead of managing something on a node."""

from precast.types.declaration import ManagedType

STAGE = ManagedType(
    "stage",
    "A stage of the run: all its classes come before or after those of other stages.",
    properties={},
    parameters={"name": "its name; the title if not given"},
)

SCHEDULE = ManagedType(
    "schedule",
    "When resources may be applied.",
    properties={},
    parameters={
        "name": "its name; the title if not given",
        "period": "hourly, daily, weekly, monthly or never",
        "periodmatch": "number (calendar periods) or distance (time since)",
        "range": "hours of the day: 2 - 4",
        "repeat": "how often in a period",
        "weekday": "days of the week",
    },
)

RESOURCES = ManagedType(
    "resources",
    "What happens to resources of a type that the catalog does not name.",
    properties={},
    parameters={
        "name": "the type; the title if not given",
        "purge": "remove resources that are not in the catalog",
        "unless_system_user": "for users: keep system accounts, or those up to this number",
        "unless_uid": "for users: keep these numbers",
    },
)

COMPONENT = ManagedType(
    "component",
    "A define or class, as the engine that applies a catalog sees it.",
    properties={},
    parameters={"name": "its reference"},
    is_applied=False,
)

WHIT = ManagedType(
    "whit",
    "The point at which a class or define begins or ends.",
    properties={},
    parameters={"name": "its reference"},
    is_applied=False,
)

PROMISE = ManagedType(
    "promise",
    "A value that this node gives to others: what future(key) waits for.",
    properties={"value": "the value; it is published once all resources that this one requires have succeeded"},
    parameters={
        "key": "under which key; the title if not given",
        "scope": "environment: later runs see the value, too; run: only the nodes of the same job do",
        "ttl": "for how many seconds the value may be used; for ever if not given",
        "command": "instead of a value: a program with its arguments, as an array; what it prints is the value",
        "user": "as whom the command runs",
        "environment": "variables of the command, as NAME=VALUE",
        "timeout": "for how many seconds the command may run; 300 if not given",
        "format": "text: the output without the last line break; json: the output is read as JSON",
        "type": "a type of the language that the output must have: 'String[1, 100]'",
        "max_bytes": "how large the output may be; 65536 if not given",
    },
    namevars=("key",),
    # Who promises what is part of the catalog, and is checked before any node applies it.
    never_deferred=("provider", "scope", "ttl", "format", "type", "max_bytes"),
    words={"scope": ("environment", "run"), "format": ("text", "json")},
)

DATACAT_COLLECTOR = ManagedType(
    "datacat_collector",
    "Data of many fragments, merged, as a parameter of another resource.",
    properties={"ensure": "has no effect"},
    parameters={
        "path": "the name that fragments give as their target; the title if not given",
        "collects": "further names whose fragments it takes",
        "target_resource": "the resource that gets the data: File['/etc/motd']",
        "target_field": "the parameter that gets it",
        "source_key": "the key of the data that is taken; if not given, the template makes the value",
        "template": "path of the template, for errors",
        "template_body": "an ERB template over @data",
        "provider": "which implementation to use",
    },
    namevars=("path",),
    providers=("datacat_collector",),
    module="datacat",
)

DATACAT_FRAGMENT = ManagedType(
    "datacat_fragment",
    "A part of the data of a datacat_collector.",
    properties={},
    parameters={
        "name": "an arbitrary name; the title if not given",
        "target": "the collectors that take it",
        "order": "its position among the fragments ('50')",
        "data": "a hash",
        "provider": "which implementation to use",
    },
    providers=("datacat_fragment",),
    module="datacat",
)
