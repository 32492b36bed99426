"""The roles of people. Each role includes those before it, except that running commands is a role of its own."""

from precast.services.identity import issues

ORDER = ("viewer", "operator", "admin")
COMMANDS = "commands"
ROLES = (*ORDER, COMMANDS)


def check_role(role: str) -> None:
    """Raises InputError AUTH-001 if there is no such role."""
    if role not in ROLES:
        raise issues.BAD_ROLE.error(role=role, roles=", ".join(ROLES))


def includes(role: str, needed: str) -> bool:
    """Whether a person with this role may do what requires the needed one."""
    if role in ORDER and needed in ORDER:
        return ORDER.index(role) >= ORDER.index(needed)
    return role == needed
