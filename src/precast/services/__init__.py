"""The services: what Precast does, without HTTP and without the text of SQL statements."""
