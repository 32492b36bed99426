"""The dashboard: files that a browser runs, a client of the public API like any other; and the sessions of browsers."""
