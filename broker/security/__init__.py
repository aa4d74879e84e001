"""Who a client is: listeners, SASL mechanisms, credentials and certificates. Pure, no sockets."""
