"""How much each client may do."""
