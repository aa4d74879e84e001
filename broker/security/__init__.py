"""Authentication: SASL mechanisms, credentials and principals of certificates. No sockets."""
