"""The store of approvals."""
