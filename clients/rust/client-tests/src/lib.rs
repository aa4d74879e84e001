//! The tests of the crate mock-kafka with a client, in `tests`. Users of mock-kafka get no client from it.
