"""Virtual clients of the load: one module per behaviour."""
