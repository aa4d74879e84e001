"""The admin page in a real browser: it shows and controls the cluster, and escapes names."""
