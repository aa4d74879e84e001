package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"

	"mockkafka.test/adapter"
)

// Between two attempts to join a group: sarama leaves it to its user.
const rejoinPause = 100 * time.Millisecond

// A member of a group, or a reader of assigned partitions.
type consumer struct {
	groupID  string
	records  chan *sarama.ConsumerMessage
	errs     chan error
	current  atomic.Pointer[sarama.ConsumerGroupSession]
	admin    func() (sarama.ClusterAdmin, error)
	close    func() error
	group    sarama.ConsumerGroup
	finished chan struct{}
}

func (m *consumer) session() sarama.ConsumerGroupSession {
	if session := m.current.Load(); session != nil {
		return *session
	}
	return nil
}

// Setup, Cleanup and ConsumeClaim are what sarama calls in a member.
func (m *consumer) Setup(session sarama.ConsumerGroupSession) error {
	m.current.Store(&session)
	return nil
}

func (m *consumer) Cleanup(sarama.ConsumerGroupSession) error {
	m.current.Store(nil)
	return nil
}

func (m *consumer) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, isOpen := <-claim.Messages():
			if !isOpen {
				return nil
			}
			select {
			case m.records <- message:
			case <-session.Context().Done():
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func openConsumer(ctx context.Context, c *command) (fields, error) {
	config, err := consumerConfig(c.Settings)
	if err != nil {
		return nil, err
	}
	m := &consumer{
		records:  make(chan *sarama.ConsumerMessage),
		errs:     make(chan error, config.ChannelBufferSize),
		finished: make(chan struct{}),
		admin:    func() (sarama.ClusterAdmin, error) { return sarama.NewClusterAdmin(servers(c), config) },
	}
	open := func() error { return m.assign(c, config) }
	if c.Assign == nil {
		m.groupID = c.Settings.Text("group")
		open = func() error { return m.join(c, config) }
	}
	if err := adapter.Within(ctx, open); err != nil {
		return nil, err
	}
	consumers[c.ID] = m
	return nil, nil
}

func (m *consumer) join(c *command, config *sarama.Config) (err error) {
	if m.group, err = sarama.NewConsumerGroup(servers(c), m.groupID, config); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.close = func() error { cancel(); return m.group.Close() }
	go func() {
		for ctx.Err() == nil {
			if err := m.group.Consume(ctx, c.Topics, m); err != nil && ctx.Err() == nil {
				m.report(err)
				time.Sleep(rejoinPause)
			}
		}
	}()
	go func() {
		for err := range m.group.Errors() {
			m.report(err)
		}
	}()
	return nil
}

func (m *consumer) assign(c *command, config *sarama.Config) error {
	reader, err := sarama.NewConsumer(servers(c), config)
	if err != nil {
		return err
	}
	readers := []sarama.PartitionConsumer{}
	m.close = func() error {
		close(m.finished)
		for _, partition := range readers {
			partition.AsyncClose()
		}
		return reader.Close()
	}
	for topic, partitions := range c.Assign {
		for _, number := range partitions {
			partition, err := reader.ConsumePartition(topic, number, config.Consumer.Offsets.Initial)
			if err != nil {
				reader.Close()
				return err
			}
			readers = append(readers, partition)
			go m.forward(partition)
		}
	}
	return nil
}

func (m *consumer) forward(partition sarama.PartitionConsumer) {
	go func() {
		for err := range partition.Errors() {
			m.report(err.Err)
		}
	}()
	for message := range partition.Messages() {
		select {
		case m.records <- message:
		case <-m.finished:
		}
	}
}

func (m *consumer) report(err error) {
	select {
	case m.errs <- err:
	default: // nobody polls
	}
}

// Waits for a first record or error, then takes what is there.
func poll(ctx context.Context, c *command) (fields, error) {
	m, records := consumers[c.Consumer], []fields{}
	add := func(message *sarama.ConsumerMessage) {
		if session := m.session(); session != nil {
			session.MarkMessage(message, "")
		}
		records = append(records, fields{"topic": message.Topic, "partition": message.Partition,
			"offset": message.Offset, "key": adapter.Text(message.Key), "value": adapter.Text(message.Value)})
	}
	select {
	case message := <-m.records:
		add(message)
	case err := <-m.errs:
		return nil, err
	case <-ctx.Done():
		return fields{"records": records}, nil
	}
	for len(records) < c.RecordsMax {
		select {
		case message := <-m.records:
			add(message)
		case <-time.After(time.Millisecond): // the channel has no buffer, so that nothing is read ahead
			return fields{"records": records}, nil
		}
	}
	return fields{"records": records}, nil
}

// Commit returns nothing: its errors are those of the group.
func commit(ctx context.Context, c *command) (fields, error) {
	m := consumers[c.Consumer]
	if m.group == nil {
		return nil, adapter.ErrUnsupported
	}
	session := m.session()
	if session == nil {
		return nil, errors.New("the member has no session")
	}
	err := adapter.Within(ctx, func() error { session.Commit(); return nil })
	select {
	case err = <-m.errs:
	case <-time.After(5 * time.Millisecond):
	}
	return nil, err
}

func committed(ctx context.Context, c *command) (result fields, _ error) {
	m := consumers[c.Consumer]
	return result, adapter.Within(ctx, func() error {
		admin, err := m.admin()
		if err != nil {
			return err
		}
		defer admin.Close()
		answer, err := admin.ListConsumerGroupOffsets(m.groupID, map[string][]int32{c.Topic: {c.Partition}})
		if err != nil {
			return err
		}
		block := answer.GetBlock(c.Topic, c.Partition)
		result = fields{"offset": nil}
		if block == nil || block.Err != sarama.ErrNoError || answer.Err != sarama.ErrNoError {
			return errors.Join(answer.Err, block.Err)
		}
		if block.Offset >= 0 {
			result = fields{"offset": block.Offset}
		}
		return nil
	})
}
