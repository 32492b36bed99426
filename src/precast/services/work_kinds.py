"""The kinds of work items that several services enqueue."""

from precast.store.queue.kinds import WorkKind

# Decide whether a node needs a new catalog; the key is the node.
DECIDE = WorkKind("decide")
# Decide that for all nodes of an environment; the key is the environment.
REDECIDE = WorkKind("redecide")
# Announce changed exports of a type to the nodes that collect it; the key is environment, state and type.
COLLECT = WorkKind("collect")
# Apply the classification rules to all nodes; there is one key.
RECLASSIFY = WorkKind("reclassify")
# Ask the external node classifier about a node; the key is the node.
ASK_ENC = WorkKind("enc")
# Deploy an environment from the repository that is configured for it; the key is the environment.
DEPLOY = WorkKind("deploy")
# Evaluate the queries again that catalogs of an environment rest on; the key is the environment, or * for all.
REEVALUATE = WorkKind("reevaluate", max_attempts=1_000)
# Compile at a branch point where a trace tree ends, for the nodes that wait there; the key is the branch.
COMPILE = WorkKind("compile", max_attempts=3)
# Ask a secret source for a document, now or when the time of its values is over; the key is the document. It is never given up.
ASK_SECRET = WorkKind("secret", max_attempts=1_000_000_000, pause_first_s=2.0)
# Request decisions for the nodes that read a document that has changed; the key is the document.
SPREAD_SECRET = WorkKind("secret-readers")
