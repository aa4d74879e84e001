"""What a run shows while it sends its load: a page and metrics, from the rows so far."""
