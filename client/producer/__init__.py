"""KIP-91's producer: a core that decides without I/O, and an asyncio object around it.

A record passes the modules in this order:

1. `producer`: `Producer.send` gives the record to the core, waiting for memory if need be.
2. `core`: `ProducerCore` takes records, times and responses; `poll` returns `actions`. It calls
   the modules below, which share one `state`.
3. `accumulator`: reserves memory, chooses the partition (`partitioner`, `topic_metadata`) and fills
   a `batch` for each partition.
4. `expiry`: at every poll, fails records that are older than `delivery_timeout_ms`.
5. `sender`: decides which connections to open and which requests to send: Metadata,
   InitProducerId, and Produce with the batches whose turn it is.
6. `idempotence`: assigns sequence numbers and starts a new epoch after a gap.
7. `producer` again: performs the actions. `messages` turns the core's requests into messages of the
   protocol, and responses back; `connections` is what the core knows of each connection.
8. `response_handling`: completes, retries (`backoff`), splits or fails the batches of a response.
9. `delivery`: what the caller of `send` gets: an offset or an error.

`settings` has the configuration. With a transactional id `transactions` decides which request goes
to a coordinator next, `transaction_responses` handles its response, and `transaction_operations`
lets the caller wait. `transactional_offsets` and `transaction_errors` are for the caller.
"""
