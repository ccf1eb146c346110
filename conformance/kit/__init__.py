"""What the suites share: a server to talk to, SDK clients, and connections without an SDK."""
