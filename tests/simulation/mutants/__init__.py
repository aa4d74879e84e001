"""Bugs like those that brokers and clients have had, each with the checker that finds it."""
