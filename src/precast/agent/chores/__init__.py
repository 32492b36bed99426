"""The daemon's recurring work: each chore decides when its work is due and has a short-lived child process do it."""
