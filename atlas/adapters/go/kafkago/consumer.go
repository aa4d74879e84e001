package main

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"

	"mockkafka.test/adapter"
)

const (
	moreWait           = 2 * time.Millisecond  // for a record that a reader may have already
	turn               = 20 * time.Millisecond // of one reader of several
	autoCommitInterval = time.Second
)

type partition struct {
	topic  string
	number int
}

// A reader for each assigned partition, or one for the group.
type consumer struct {
	readers map[partition]*kafka.Reader
	last    map[partition]kafka.Message
	group   string
	client  *kafka.Client
	isAuto  bool
}

func (m *consumer) close() (err error) {
	for _, reader := range m.readers {
		err = errors.Join(err, reader.Close())
	}
	return err
}

func openConsumer(_ context.Context, c *command) (fields, error) {
	if c.Settings.Text("group_protocol") == "consumer" {
		return nil, adapter.ErrUnsupported
	}
	transport, err := newTransport(c.Settings)
	if err != nil {
		return nil, err
	}
	config := readerConfig(c, transport)
	m := &consumer{
		readers: map[partition]*kafka.Reader{}, last: map[partition]kafka.Message{}, group: config.GroupID,
		isAuto: config.CommitInterval > 0,
		client: &kafka.Client{Addr: kafka.TCP(servers(c)...), Transport: transport}}
	for topic, numbers := range c.Assign {
		for _, number := range numbers {
			one := config
			one.GroupID, one.Topic, one.Partition = "", topic, int(number)
			m.readers[partition{topic, int(number)}] = kafka.NewReader(one)
		}
	}
	if c.Assign == nil {
		config.GroupTopics = c.Topics
		m.readers[partition{}] = kafka.NewReader(config)
	}
	consumers[c.ID] = m
	return nil, nil
}

func readerConfig(c *command, transport *kafka.Transport) kafka.ReaderConfig {
	settings := c.Settings
	config := kafka.ReaderConfig{
		Brokers:     servers(c),
		GroupID:     settings.Text("group"),
		Dialer:      &kafka.Dialer{Timeout: transport.DialTimeout, SASLMechanism: transport.SASL, DualStack: true},
		Logger:      logger,
		ErrorLogger: logger,
	}
	if settings.Text("isolation") == "read_committed" {
		config.IsolationLevel = kafka.ReadCommitted
	}
	config.StartOffset = kafka.FirstOffset
	if start, isThere := adapter.Choice(settings, "auto_offset_reset", map[string]int64{
		"earliest": kafka.FirstOffset, "latest": kafka.LastOffset,
	}); isThere {
		config.StartOffset = start
	}
	if settings.Bool("auto_commit", true) {
		config.CommitInterval = autoCommitInterval
	}
	setDuration(settings, "session_timeout_ms", &config.SessionTimeout)
	setDuration(settings, "heartbeat_interval_ms", &config.HeartbeatInterval)
	setDuration(settings, "fetch_max_wait_ms", &config.MaxWait)
	setDuration(settings, "request_timeout_ms", &config.ReadBatchTimeout)
	setDuration(settings, "retry_backoff_ms", &config.ReadBackoffMin, &config.ReadBackoffMax, &config.JoinGroupBackoff)
	if balancer, isThere := adapter.Choice(settings, "assignor", map[string]kafka.GroupBalancer{
		"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{},
	}); isThere {
		config.GroupBalancers = []kafka.GroupBalancer{balancer}
	}
	return config
}

// Waits for a first record or error, then takes what the readers have.
func poll(ctx context.Context, c *command) (fields, error) {
	m, records := consumers[c.Consumer], []fields{}
	for ctx.Err() == nil && len(records) < c.RecordsMax {
		before := len(records)
		for _, reader := range m.readers {
			wait := c.Timeout()
			if len(records) > 0 {
				wait = moreWait
			} else if len(m.readers) > 1 {
				wait = turn
			}
			message, err := fetch(ctx, reader, wait)
			switch {
			case errors.Is(err, context.DeadlineExceeded):
			case err != nil:
				return nil, err
			default:
				m.last[partition{message.Topic, message.Partition}] = message
				records = append(records, fields{
					"topic": message.Topic, "partition": message.Partition, "offset": message.Offset,
					"key": adapter.Text(message.Key), "value": adapter.Text(message.Value)})
			}
		}
		if len(records) > 0 && len(records) == before {
			break
		}
	}
	if m.isAuto && m.group != "" && len(records) > 0 {
		return fields{"records": records}, m.commit(ctx)
	}
	return fields{"records": records}, nil
}

func fetch(ctx context.Context, reader *kafka.Reader, wait time.Duration) (kafka.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return reader.FetchMessage(ctx)
}

func (m *consumer) commit(ctx context.Context) error {
	messages := []kafka.Message{}
	for _, message := range m.last {
		messages = append(messages, message)
	}
	return m.readers[partition{}].CommitMessages(ctx, messages...)
}

func commit(ctx context.Context, c *command) (fields, error) {
	m := consumers[c.Consumer]
	if m.group == "" {
		return nil, adapter.ErrUnsupported
	}
	return nil, m.commit(ctx)
}

func position(_ context.Context, c *command) (fields, error) {
	reader := consumers[c.Consumer].readers[partition{c.Topic, int(c.Partition)}]
	if reader == nil {
		return nil, adapter.ErrUnsupported
	}
	return fields{"offset": reader.Offset()}, nil
}

func seek(_ context.Context, c *command) (fields, error) {
	reader := consumers[c.Consumer].readers[partition{c.Topic, int(c.Partition)}]
	if reader == nil {
		return nil, adapter.ErrUnsupported
	}
	return nil, reader.SetOffset(c.Offset)
}

func committed(ctx context.Context, c *command) (fields, error) {
	m := consumers[c.Consumer]
	answer, err := m.client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{
		GroupID: m.group, Topics: map[string][]int{c.Topic: {int(c.Partition)}}})
	if err != nil {
		return nil, err
	}
	for _, found := range answer.Topics[c.Topic] {
		if found.Error == nil && found.CommittedOffset >= 0 {
			return fields{"offset": found.CommittedOffset}, nil
		}
		err = found.Error
	}
	return fields{"offset": nil}, errors.Join(answer.Error, err)
}
