"""What all commands share: the argument parser, settings from flags, the client of the API, files, and printed output."""
