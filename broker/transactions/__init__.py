"""The transaction coordinator: the state of each transactional id, without sockets and logs."""
