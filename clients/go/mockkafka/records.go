package mockkafka

import (
	"encoding/base64"
	"sort"
	"strconv"
	"time"
)

const recordsPerResponse = 10_000

// Record is a stored record, or one to store. A nil key or value is null in Kafka.
type Record struct {
	Topic       string
	Partition   int
	Offset      int64
	Timestamp   time.Time
	Key, Value  []byte
	Headers     []Header
	Transaction string // "open", "committed" or "aborted"; "" if it was written in none
}

// Header is a header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Values returns the values of records as text.
func Values(records []Record) []string {
	found := []string{}
	for _, record := range records {
		found = append(found, string(record.Value))
	}
	return found
}

// CreateTopic creates a topic. Admin.CreateTopic has its configuration and the replication factor.
func (k *Kafka) CreateTopic(name string, partitions int) TopicView {
	k.t.Helper()
	return must[TopicView](k)(k.Admin.CreateTopic(k.ctx, NewTopicBody{Name: name, Partitions: &partitions}))
}

// Topics returns all topics that are not internal, with their partitions, leaders and offsets.
func (k *Kafka) Topics() (topics []TopicView) {
	k.t.Helper()
	for _, topic := range must[[]TopicView](k)(k.Admin.ListTopics(k.ctx)) {
		if !topic.IsInternal {
			topics = append(topics, topic)
		}
	}
	return topics
}

// Produce stores a record for each value, as a producer with acks=all does, and returns the records. No
// quota is charged, and no fault fires. A missing topic is created, as by a producer.
func (k *Kafka) Produce(topic string, values ...string) []Record {
	k.t.Helper()
	records := make([]Record, len(values))
	for i, value := range values {
		records[i].Value = []byte(value)
	}
	return k.produce(topic, nil, records)
}

// ProduceRecords stores records with their keys, headers and timestamps. Their keys decide on the partition.
func (k *Kafka) ProduceRecords(topic string, records ...Record) []Record {
	k.t.Helper()
	return k.produce(topic, nil, records)
}

// ProduceTo stores records in a partition.
func (k *Kafka) ProduceTo(topic string, partition int, records ...Record) []Record {
	k.t.Helper()
	return k.produce(topic, &partition, records)
}

func (k *Kafka) produce(topic string, partition *int, records []Record) []Record {
	k.t.Helper()
	if len(records) == 0 {
		return nil
	}
	body := RecordsBody{}
	for _, record := range records {
		encoded := RecordBody{Key: bytesBody(record.Key), Value: bytesBody(record.Value), Partition: partition}
		if !record.Timestamp.IsZero() {
			encoded.Timestamp = Ptr(record.Timestamp.UnixMilli())
		}
		for _, header := range record.Headers {
			encoded.Headers = append(encoded.Headers, HeaderBody{header.Key, bytesBody(header.Value)})
		}
		body.Records = append(body.Records, encoded)
	}
	stored := append([]Record{}, records...)
	for i, place := range must[[]ProducedView](k)(k.Admin.ProduceRecords(k.ctx, topic, body)) {
		stored[i].Topic, stored[i].Partition, stored[i].Offset = topic, int(place.Partition), place.Offset
		stored[i].Timestamp = time.UnixMilli(place.Timestamp)
	}
	return stored
}

// Records returns the records of a topic, by partition and offset. Those of open and aborted transactions are
// among them.
func (k *Kafka) Records(topic string) []Record {
	k.t.Helper()
	query := GetRecordsQuery{Limit: recordsPerResponse, Encoding: "base64"}
	page := must[RecordsView](k)(k.Admin.GetRecords(k.ctx, topic, query))
	found := page.Records
	for partition, offset := range page.NextOffsets {
		index := must[int](k)(strconv.Atoi(partition))
		for isThere := true; isThere; offset, isThere = page.NextOffsets[partition] {
			query.Partition, query.Offset = &index, offset
			page = must[RecordsView](k)(k.Admin.GetRecords(k.ctx, topic, query))
			found = append(found, page.Records...)
		}
	}
	records := make([]Record, len(found))
	for i, view := range found {
		records[i] = recordOf(topic, view)
	}
	sort.Slice(records, func(i, j int) bool {
		a, b := records[i], records[j]
		return a.Partition < b.Partition || a.Partition == b.Partition && a.Offset < b.Offset
	})
	return records
}

// WaitForRecords returns all records of a topic as soon as there are at least `count`. The topic need not
// exist yet.
func (k *Kafka) WaitForRecords(topic string, count int) []Record {
	k.t.Helper()
	query := WaitForRecordsQuery{
		Count: Ptr(int64(count)), Limit: 1, TimeoutMS: Ptr(int(k.timeout.Milliseconds())),
	}
	found := must[*RecordsView](k)(k.Admin.WaitForRecords(k.ctx, topic, query))
	if found == nil {
		now, err := k.Admin.GetTopic(k.ctx, topic)
		if err != nil {
			k.t.Fatalf("mock-kafka: no record of topic %q in %v: %v", topic, k.timeout, err)
		}
		stored := int64(0)
		for _, partition := range now.Partitions {
			stored += partition.HighWatermark - partition.LogStartOffset
		}
		k.t.Fatalf("mock-kafka: topic %q had %d of %d records in %v", topic, stored, count, k.timeout)
	}
	return k.Records(topic)
}

func recordOf(topic string, view RecordView) Record {
	record := Record{
		Topic: topic, Partition: int(view.Partition), Offset: view.Offset,
		Timestamp: time.UnixMilli(view.Timestamp), Key: bytesOf(view.Key), Value: bytesOf(view.Value),
	}
	if view.Transaction != nil {
		record.Transaction = *view.Transaction
	}
	for _, header := range view.Headers {
		record.Headers = append(record.Headers, Header{header.Key, bytesOf(header.Value)})
	}
	return record
}

func bytesBody(value []byte) any {
	if value == nil {
		return nil
	}
	return BytesBody{Base64: Ptr(base64.StdEncoding.EncodeToString(value))}
}

func bytesOf(view *BytesView) []byte {
	if view == nil {
		return nil
	}
	if view.Base64 == nil {
		return []byte(*view.Text)
	}
	value, err := base64.StdEncoding.DecodeString(*view.Base64)
	if err != nil {
		panic(err) // the port has encoded it
	}
	return value
}
