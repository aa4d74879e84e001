"""Brokers, a network and an asyncio event loop in virtual time, all determined by a seed."""
