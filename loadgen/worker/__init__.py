"""A Spark task of the load: run the clients on one event loop."""
