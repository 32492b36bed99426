"""Renders the templates that an image brings for files that cloud-init writes, such as /etc/hosts.

A site changes such a file by changing its template in the image, so the image's template wins over our own text.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.user_entries import read_os_release
from precast.boot.userdata import templates

DIRECTORY = "/etc/cloud/templates"
_HEADER = re.compile(r"##\s*template:\s*(\w+)[^\n]*\n", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
# The family by which cloud-init names templates, where it is not the distribution's own ID.
_FAMILIES = {
    "almalinux": "redhat", "amzn": "redhat", "centos": "redhat", "fedora": "redhat", "rhel": "redhat", "rocky": "redhat",
    "opensuse": "suse", "opensuse-leap": "suse", "opensuse-tumbleweed": "suse", "sles": "suse", "ubuntu": "debian",
}  # fmt: skip


def list_distributions(context: ModuleContext) -> list[str]:
    """Return the ID of the system, and those of the systems it is like."""
    release = read_os_release(context.root)
    return [name for name in (release.get("ID", ""), *release.get("ID_LIKE", "").split()) if name]


def find_family(context: ModuleContext) -> str:
    """Return the family of the distribution, by cloud-init's name."""
    names = list_distributions(context)
    return next((_FAMILIES[name] for name in names if name in _FAMILIES), names[0] if names else "")


def render(context: ModuleContext, names: Sequence[str], variables: Mapping[str, Any]) -> str | None:
    """Return the first of these templates that the image has, rendered; None if it has none, or if the template is invalid."""
    for name in names:
        path = f"{DIRECTORY}/{name}.tmpl"
        text = context.read_text(path)
        if not text:
            continue
        header = _HEADER.match(text)
        if header is None or header[1].lower() != "jinja":
            body = text if header is None else text[header.end() :]
            return _VARIABLE.sub(lambda match: str(variables.get(match[1], match[0])), body)
        try:
            return templates.render(text[header.end() :], variables).text
        except PrecastError as error:
            context.warn(f"{path} is not used: {error.message}")
    return None
