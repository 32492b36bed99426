"""archive: a file from elsewhere, extracted. `download` fetches it, `extraction` makes the command, `handler` decides."""
