"""Types that organise a catalog instead of managing something on a node."""

from precast.types.declaration import ManagedType

STAGE = ManagedType(
    "stage",
    "A stage of the run: every class of it comes before or after those of others.",
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
    "What happens to resources of a type that no catalog names.",
    properties={},
    parameters={
        "name": "the type; the title if not given",
        "purge": "remove what is not in the catalog",
        "unless_system_user": "for users: spare system accounts, or those up to this number",
        "unless_uid": "for users: spare these numbers",
    },
)

COMPONENT = ManagedType(
    "component",
    "What a define or class is to the engine that applies a catalog.",
    properties={},
    parameters={"name": "its reference"},
)

WHIT = ManagedType(
    "whit",
    "A point that a class or define begins or ends with.",
    properties={},
    parameters={"name": "its reference"},
)

PROMISE = ManagedType(
    "promise",
    "A value that this node gives to others: what future(key) waits for.",
    properties={"value": "the value; it is published once what the resource requires has succeeded"},
    parameters={"key": "under which key; the title if not given"},
    namevars=("key",),
)
