"""Messages about jobs: orders to nodes, their answers, and bodies of the API."""
