"""Messages about actions: bodies of the API."""
