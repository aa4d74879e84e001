"""The server: sockets, dispatch, handlers, topics, groups."""
