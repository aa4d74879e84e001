"""The asyncio part: listeners, sockets, TLS. It turns reads into `Connection.receive` calls."""
