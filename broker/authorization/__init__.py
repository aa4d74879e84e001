"""Authorization: access control lists, and what they decide. No sockets, clock or messages."""
