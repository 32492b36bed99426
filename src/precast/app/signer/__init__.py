"""The signer's own program, and the server's side of it: a child process, or a connection to the configured signer."""
