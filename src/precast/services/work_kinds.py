"""The kinds of work that several services ask for."""

from precast.store.queue.kinds import WorkKind

# Whether a node needs another catalog; the key is the node.
DECIDE = WorkKind("decide")
# The same for all nodes of an environment; the key is the environment.
REDECIDE = WorkKind("redecide")
# To hold all nodes against the rules of classification; there is one key.
RECLASSIFY = WorkKind("reclassify")
# To ask the external node classifier about a node; the key is the node.
ASK_ENC = WorkKind("enc")
# To deploy an environment from the repository that is configured for it; the key is the environment.
DEPLOY = WorkKind("deploy")
# A place where a trace tree ends: the key is the branch, whoever waits there.
COMPILE = WorkKind("compile", max_attempts=3)
