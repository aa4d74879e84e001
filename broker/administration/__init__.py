"""What administration of topics allows: pure checks and their outcomes, without any messages."""
