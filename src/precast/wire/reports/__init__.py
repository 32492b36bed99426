"""Messages about reports: events of resources, the records that a node sends, and views of the API."""
