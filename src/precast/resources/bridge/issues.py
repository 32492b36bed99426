"""Errors of resources that are applied with the Ruby code of modules."""

from precast.base.errors import Issue, Kind

NO_PUPPET = Issue(
    "RESOURCE-180",
    Kind.INPUT,
    "Precast does not implement the type {type}, and this node has no Puppet to apply it with",
    "install Puppet 7 on the node (package puppet-agent), or use a type that `precast doc type` lists as applied",
)
NOT_STARTED = Issue(
    "RESOURCE-181",
    Kind.UNAVAILABLE,
    "Puppet's types and providers cannot be loaded: {reason}",
    "run `{ruby} -e 'require \"puppet\"'` on the node and repair its Puppet",
)
BRIDGE_KILLED = Issue(
    "RESOURCE-182",
    Kind.UNAVAILABLE,
    "the provider of {ref} did not answer within {seconds} seconds, and was killed with everything that it had started in its group",
    "find out what it waits for; a number as `timeout` of the resource gives it more time",
)
BRIDGE_ENDED = Issue(
    "RESOURCE-183",
    Kind.UNAVAILABLE,
    "the provider of {ref} ended the Ruby process that it runs in ({how})",
    "the provider is faulty: report it to the author of its module",
)
REFUSED = Issue(
    "RESOURCE-184",
    Kind.INPUT,
    "{reason}",
    "this text is from the Ruby type or provider of {ref}; see the documentation of its module",
)
NOT_TRUSTED = Issue(
    "RESOURCE-186",
    Kind.DENIED,
    "{ref} is not evaluated: code of modules does not run on a node that only looks",
    "give the node a policy that lets a run enforce: `precast node policy`",
)
UNDER_ROOT = Issue(
    "RESOURCE-187",
    Kind.INPUT,
    "resources of type {type} cannot be applied below {root}: Ruby code of a module applies them, which knows only the whole machine",
    "apply the catalog without --root, for example inside a container or chroot of that system",
)
TOO_LARGE = Issue(
    "RESOURCE-185",
    Kind.INPUT,
    "{ref} does not fit between Precast and its provider: {size} bytes, more than {limit}",
    "manage less with one resource",
)
