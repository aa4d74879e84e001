"""The audit: compare acknowledged batches with the logs."""
