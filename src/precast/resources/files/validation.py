"""Runs `validate_cmd` on new content before it gets its name.

The command reads the new file under its temporary name. In a directory that another user can change, that user could replace the temporary
file by a link, and the command's output would show the link's target. There the command gets a copy in a directory of root instead.
"""

import shutil
import tempfile
from pathlib import Path

from precast.base import files
from precast.resources.contract import DesiredResource, ManagedNode
from precast.resources.files import issues, safe_reads
from precast.resources.files.parameters import Spec
from precast.resources.files.sources import Source


def validate(node: ManagedNode, resource: DesiredResource, spec: Spec, temporary: str, source: Source) -> None:
    """Run the user's own command line, through a shell as in Puppet. Raises InputError RESOURCE-113 if it rejects the content."""
    directory, _, name = spec.path.rpartition("/")
    if safe_reads.find_distrust(safe_reads.node_parents(node), directory) is None:
        _run(node, resource, spec, f"{directory}/{temporary}")
        return
    if not node.root:
        files.make_private_directory(Path(node.state_directory))
    with tempfile.TemporaryDirectory(prefix=".precast-", dir=node.root or node.state_directory) as private:
        copy = Path(private, name)
        with source.open() as content, copy.open("wb") as file:
            shutil.copyfileobj(content, file)
        _run(node, resource, spec, str(copy).removeprefix(node.root))


def _run(node: ManagedNode, resource: DesiredResource, spec: Spec, path: str) -> None:
    command = str(spec.validate_cmd).replace(spec.validate_replacement, path)
    result = node.run(["/bin/sh", "-c", command])
    if not result.is_success:
        # The command reads the new content and may repeat it, so with a secret nothing that it says is shown.
        output = "[output redacted]" if resource.secrets else result.output.rstrip()
        shown = "[command redacted]" if "validate_cmd" in resource.secrets else command
        raise issues.NOT_VALID.error(command=shown, exit_code=result.exit_code, output=output)
