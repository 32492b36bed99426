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
    parameters={"key": "under which key; the title if not given"},
    namevars=("key",),
)
