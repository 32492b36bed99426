"""The sessions of nodes: one websocket per node, for records in both directions. This is the hot path of a server, and a sealed room.

Fleets send little but records that change nothing and requests that end with 304, so what the server does for one of them decides how many
nodes it can serve. The tricks below are allowed only here and in the two files that are named; the rest of the server uses aiohttp as
documented. The figures are those of the decisions in `docs/decisions`, measured in turns with the code before.

- **Records are accepted within the call that has received them** (`sockets`). aiohttp would queue each message and wake a task. Its
  reader's queue is a private part, which is replaced where aiohttp creates it; `test_sockets.py` checks that over a real socket, and has to
  be run with every new version of aiohttp (decision 48).
- **A push reads the stream once, and a confirmation reads nothing** unless the send window was full. A command over 1,000 nodes took 1.4 s
  of CPU time before, and takes about 0.8 s with this and transactions in lockstep (decision 84).
- **Acknowledgements are written as frames by hand** (`frames`), directly to the transport, where aiohttp takes five coroutines. With the
  above and a connection that knows its stream's position, unchanged fact sets per second rose by 20 % on PostgreSQL, and the CPU time of
  one, load included, fell from 158 to 142 µs (decision 48).
- **One turn of the event loop submits the records and confirmations of all connections** (`store_batch`), and a connection is itself the
  `Completion` that the committer calls: no future, no callback and no task per record. Changed fact sets per second rose by 10 % on SQLite
  and 6 % on PostgreSQL (decision 47). While many nodes send, a batch is gathered for some milliseconds (decision 84).
- **A response without a body is written in one step** (`precast.api.http.responses.NotModified`), because a general response of aiohttp
  is prepared in five. A request that ends with 304 takes 111 to 120 µs instead of 149 (decision 47).
- **The node compresses a fact set, the server stores the stream as received** and parses only the members that changed; nothing parses the
  volatile part before a reader needs it. The server's CPU time fell from 0.61 to 0.47 ms for a changed set (decision 46), and from 76–78
  to 60–65 µs for an unchanged one (decision 50).
- **Backpressure reaches the node** (`receive_budget`, the send window in `endpoint`, a small read buffer of TLS): a node may send 64 KB
  beyond what is acknowledged, the rest stays on its disk. Without it a burst of 1,000 nodes made the server grow by 574 MB (decision 42).
- **A deadline is not a timer** (`precast.api.http.deadlines`), and an idle connection has no task, no timer and no heartbeat of its own.

`endpoint` accepts sessions, `connection` is one of them, `maintenance` watches all, `messages` and `records` declare what nodes may send
and which service handles it, and `presence` has the routes for people.
"""
