"""The log of daemons: one line for each message, with its time in UTC and its level, and not more lines than a disk can bear."""
