"""What can be configured, how a value is read and checked, and which layer wins."""
