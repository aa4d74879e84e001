//! Starts a Kafka cluster for tests, and controls it: faults, clock, brokers, quotas, records and requests. The
//! cluster is one process of mock-kafka, which any Kafka client can use.
//!
//! ```
//! use mock_kafka::{when, MockKafka};
//!
//! let kafka = MockKafka::start()?;
//! let lost = kafka.drop_response(when().api("Produce").times(1))?; // stored, but not acknowledged
//! // ... the code to test produces with kafka.bootstrap_servers() ...
//! # kafka.produce("orders", ["coffee"])?;
//! let records = kafka.wait_for_records("orders", 1)?;
//! assert_eq!(records[0].value_text(), "coffee");
//! # assert_eq!(lost.count()?, 0);
//! # mock_kafka::Result::Ok(())
//! ```
//!
//! # Which cluster
//!
//! The first of these that is there: the running cluster of `MOCK_KAFKA_BOOTSTRAP_SERVERS` and
//! `MOCK_KAFKA_ADMIN_URL`; the program of [`Builder::command`]; that of `MOCK_KAFKA_COMMAND`; `mock-kafka` on the
//! `PATH`; `uvx`, `docker` or `podman` on the `PATH`, with the image `mock-kafka` or that of `MOCK_KAFKA_IMAGE`.
//!
//! The first start takes a third of a second. When a test drops its cluster, the next test with the same settings gets
//! it after a reset, which takes a millisecond. Tests that run at the same time have a cluster each. It ends with the
//! process of the tests, also when that is killed. Tests that share the running cluster of the environment wait for
//! each other; run one process of tests at a time with it.
//!
//! # Methods and operations
//!
//! [`MockKafka`] has the methods for tests, and [`MockKafka::admin`] each operation of the admin port. A test that
//! panics prints the last requests of its cluster and its log.

mod admin;
mod cluster;
mod generated;
mod kafka;

pub use admin::{Admin, Error, Result};
pub use generated::*;
pub use kafka::MockKafka;
pub use serde_json::json;

/// The version of mock-kafka that this crate is made for.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
