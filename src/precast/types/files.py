"""Types about the file system."""

from precast.types.declaration import AutoRelation, ManagedType, TitlePattern

FILE = ManagedType(
    "file",
    "A file, directory or symbolic link: its existence, content, owner and mode.",
    properties={
        "ensure": "present, absent, file, directory, link; any other text is the target of a link",
        "content": "the text of the file; not together with source or target",
        "checksum_value": "the digest the content must have",
        "target": "where a link points to",
        "owner": "user that owns it, by name or number",
        "group": "group that owns it, by name or number",
        "mode": "permissions: octal as a string ('0644') or symbolic ('u=rw,g=r')",
        "type": "read only: what kind of file it is",
        "seluser": "SELinux user",
        "selrole": "SELinux role",
        "seltype": "SELinux type",
        "selrange": "SELinux range",
        "ctime": "read only: when its inode changed",
        "mtime": "read only: when its content changed",
    },
    parameters={
        "path": "absolute path; the title if not given",
        "backup": "whether and where the former content is backed up",
        "checksum": "which digest decides whether content differs",
        "force": "also replace or remove a directory that is not empty",
        "ignore": "patterns of names left alone when recursing",
        "links": "follow links or manage them",
        "max_files": "warn or fail when recursing finds more files than this",
        "provider": "which implementation to use",
        "purge": "with recurse: remove files that no source or resource names",
        "recurse": "also manage what is below a directory: true, false, remote",
        "recurselimit": "how deep to recurse",
        "replace": "false does not change a file that exists",
        "selinux_ignore_defaults": "do not ask SELinux for its default labels",
        "show_diff": "whether a change of content is shown in the report",
        "source": "where to copy from: puppet:///modules/…, file:, http(s): or a path; several are tried in order",
        "source_permissions": "whether owner, group and mode come from the source",
        "sourceselect": "first or all of several sources for a directory",
        "staging_location": "where to write before the file is put in place",
        "validate_cmd": "a command that must accept the new file before it is put in place",
        "validate_replacement": "the placeholder in validate_cmd for the new file's path (%)",
    },
    namevars=("path",),
    title_patterns=(TitlePattern(r"(?s)^(/|.+:/|.*[^/])/*\Z", ("path",)),),
    relations=(
        AutoRelation("file", ("path",), "parents"),
        AutoRelation("file", ("target",), "path"),
        AutoRelation("user", ("owner",)),
        AutoRelation("group", ("group",)),
    ),
    never_deferred=("provider", "recurse", "source"),
)

TIDY = ManagedType(
    "tidy",
    "Removal of files by age, size or name.",
    properties={},
    parameters={
        "path": "file or directory to look at; the title if not given",
        "age": "remove files older than this: 30, 5d, 2w",
        "backup": "whether removed files are backed up",
        "matches": "patterns of names to remove",
        "max_files": "warn or fail when recursing finds more files than this",
        "recurse": "how deep to look: true, false or a number",
        "rmdirs": "also remove directories that are empty or old",
        "size": "remove files larger than this: 100k, 2m",
        "type": "which time decides: atime, mtime, ctime",
    },
    namevars=("path",),
    is_isomorphic=False,
)

FILEBUCKET = ManagedType(
    "filebucket",
    "A store for backups of file contents.",
    properties={},
    parameters={
        "name": "its name; the title if not given",
        "path": "directory of a local bucket",
        "port": "port of a remote bucket",
        "server": "server of a remote bucket",
    },
)

MOUNT = ManagedType(
    "mount",
    "A mounted file system and its line in fstab.",
    properties={
        "ensure": "mounted, unmounted, present (in fstab only), absent, defined",
        "atboot": "whether it is mounted at boot",
        "blockdevice": "device to check, on systems that ask for it",
        "device": "what is mounted",
        "dump": "whether dump saves it",
        "fstype": "kind of file system",
        "options": "mount options",
        "pass": "in which pass it is checked at boot",
        "target": "file with the table of mounts",
    },
    parameters={
        "name": "mount point; the title if not given",
        "provider": "which implementation to use",
        "remounts": "whether mount -o remount works for it",
    },
    relations=(
        AutoRelation("mount", ("name",), "parents"),
        AutoRelation("file", ("name",), "path", "before"),
    ),
)
