"""Messages about code: environments, their versions, and content in frames."""
