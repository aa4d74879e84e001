"""Changed frames from a corpus, sent to a broker without sockets."""
