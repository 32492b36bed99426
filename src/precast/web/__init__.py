"""The dashboard: static files for the browser, which use the public API like any other client; and the sessions of browsers."""
