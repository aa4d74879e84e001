"""Kafka's client side: an admin client and the command line tools. Knows `protocol/` alone."""
