"""The fragments of a concat_file: their order, and how fragments that are data are merged."""
