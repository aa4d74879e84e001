use crate::kafka::time_of;
use crate::*;
use base64::prelude::{Engine, BASE64_STANDARD};
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};

const RECORDS_PER_RESPONSE: i64 = 10_000;

/// A stored record. A key or value that is None is null in Kafka.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub topic: String,
    pub partition: i64,
    pub offset: i64,
    pub timestamp: SystemTime,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// `open`, `committed` or `aborted`; None if it was written in no transaction.
    pub transaction: Option<String>,
}

impl Record {
    /// The value as text; what is not UTF-8 is replaced, and null is "".
    pub fn value_text(&self) -> String {
        String::from_utf8_lossy(self.value.as_deref().unwrap_or_default()).into()
    }
}

/// A record to store. Without a partition its key decides, as in the Java client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewRecord {
    pub partition: Option<i64>,
    pub timestamp: Option<SystemTime>,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

impl From<&str> for NewRecord {
    fn from(value: &str) -> Self {
        NewRecord { value: Some(value.into()), ..Default::default() }
    }
}

impl MockKafka {
    /// Creates a topic. `admin().create_topic` has its configuration and the replication factor.
    pub fn create_topic(&self, name: &str, partitions: i64) -> Result<TopicView> {
        let body = NewTopicBody { name: name.into(), ..Default::default() };
        self.admin().create_topic(&body.partitions(partitions))
    }

    /// All topics that are not internal, with their partitions, leaders and offsets.
    pub fn topics(&self) -> Result<Vec<TopicView>> {
        Ok(self.admin().list_topics()?.into_iter().filter(|topic| !topic.is_internal).collect())
    }

    /// Stores records as a producer with acks=all does, and returns them: texts, which are values, or [`NewRecord`]s.
    ///
    /// No quota is charged, and no fault fires. A missing topic is created, as by a producer.
    pub fn produce<T: Into<NewRecord>>(
        &self,
        topic: &str,
        records: impl IntoIterator<Item = T>,
    ) -> Result<Vec<Record>> {
        let records: Vec<NewRecord> = records.into_iter().map(Into::into).collect();
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let body = RecordsBody { records: records.iter().map(encoded).collect() };
        let stored = self.admin().produce_records(topic, &body)?;
        let pairs = records.into_iter().zip(stored);
        Ok(pairs
            .map(|(record, place)| Record {
                topic: topic.into(),
                partition: place.partition,
                offset: place.offset,
                timestamp: time_of(place.timestamp),
                key: record.key,
                value: record.value,
                headers: record.headers,
                transaction: None,
            })
            .collect())
    }

    /// The records of a topic, by partition and offset. Those of open and aborted transactions are among them.
    pub fn records(&self, topic: &str) -> Result<Vec<Record>> {
        let query = GetRecordsQuery::default().limit(RECORDS_PER_RESPONSE).encoding("base64");
        let mut pages = vec![self.admin().get_records(topic, &query)?];
        let mut records = Vec::new();
        while let Some(page) = pages.pop() {
            records.extend(page.records.into_iter().map(|view| decoded(topic, view)));
            for (partition, offset) in page.next_offsets {
                let partition: i64 = partition.parse().expect("the number of a partition");
                let next = query.clone().partition(partition).offset(offset);
                pages.push(self.admin().get_records(topic, &next)?);
            }
        }
        records.sort_by_key(|record| (record.partition, record.offset));
        Ok(records)
    }

    /// Returns all records of a topic as soon as there are at least `count`. The topic need not exist yet.
    pub fn wait_for_records(&self, topic: &str, count: i64) -> Result<Vec<Record>> {
        let query = WaitForRecordsQuery::default().count(count).limit(1).timeout_ms(self.timeout_ms());
        if self.admin().wait_for_records(topic, &query)?.is_some() {
            return self.records(topic);
        }
        let timeout = self.timeout();
        Err(Error::Timeout(match self.admin().get_topic(topic) {
            Err(error) => format!("no record of topic {topic:?} in {timeout:?}: {error}"),
            Ok(found) => {
                let counts = found.partitions.iter().map(|one| one.high_watermark - one.log_start_offset);
                format!("topic {topic:?} had {} of {count} records in {timeout:?}", counts.sum::<i64>())
            }
        }))
    }
}

fn encoded(record: &NewRecord) -> RecordBody {
    let base64 = |bytes: &Option<Vec<u8>>| {
        bytes.as_ref().map(|bytes| json!({"base64": BASE64_STANDARD.encode(bytes)}))
    };
    let headers =
        record.headers.iter().map(|(key, value)| HeaderBody { key: key.clone(), value: base64(value) });
    RecordBody {
        value: base64(&record.value),
        key: base64(&record.key),
        headers: Some(headers.collect()),
        partition: record.partition,
        timestamp: record.timestamp.map(|time| {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            since.as_millis().try_into().unwrap_or(i64::MAX)
        }),
    }
}

fn decoded(topic: &str, view: RecordView) -> Record {
    let bytes = |view: BytesView| {
        let text = view.base64.unwrap_or_default();
        BASE64_STANDARD.decode(text).expect("the base64 of the port")
    };
    Record {
        topic: topic.into(),
        partition: view.partition,
        offset: view.offset,
        timestamp: time_of(view.timestamp),
        key: view.key.map(bytes),
        value: view.value.map(bytes),
        headers: view.headers.into_iter().map(|header| (header.key, header.value.map(bytes))).collect(),
        transaction: view.transaction,
    }
}
