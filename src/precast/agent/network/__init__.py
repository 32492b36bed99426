"""The network process: TLS, HTTP and what servers send are handled by an unprivileged process, and root gets bounded, typed messages."""
