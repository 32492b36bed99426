"""Bodies of the API about approvals."""
