"""The journal of requests: keep the last frames, decode and filter them on demand."""
