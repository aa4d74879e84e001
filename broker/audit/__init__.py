"""The audit: compare what was acknowledged with what the logs hold."""
