package main

import (
	"context"
	"sync"

	"github.com/IBM/sarama"

	"mockkafka.test/adapter"
)

type producer struct {
	sarama.AsyncProducer
	pending sync.WaitGroup
}

func openProducer(ctx context.Context, c *command) (fields, error) {
	config, err := producerConfig(c.Settings)
	if err != nil {
		return nil, err
	}
	opened := &producer{}
	// With a transactional id this asks for a producer id.
	err = adapter.Within(ctx, func() (err error) {
		opened.AsyncProducer, err = sarama.NewAsyncProducer(servers(c), config)
		return
	})
	if err != nil {
		return nil, err
	}
	producers[c.ID] = opened
	go func() {
		for message := range opened.Successes() {
			client.Delivered(message.Metadata.(int), message.Offset, nil)
			opened.pending.Done()
		}
	}()
	go func() {
		for failure := range opened.Errors() {
			if n, isRecord := failure.Msg.Metadata.(int); isRecord {
				client.Delivered(n, -1, opened.named(failure.Err))
				opened.pending.Done()
			}
		}
	}()
	return nil, nil
}

func (p *producer) named(err error) error {
	if err == nil || !p.IsTransactional() {
		return err
	}
	return transactionError{err, p.TxnStatus()}
}

func send(ctx context.Context, c *command) (fields, error) {
	message := &sarama.ProducerMessage{Topic: c.Topic, Partition: c.Partition, Metadata: c.N}
	if c.Key != nil {
		message.Key = sarama.StringEncoder(*c.Key)
	}
	if c.Value != nil {
		message.Value = sarama.StringEncoder(*c.Value)
	}
	p := producers[c.Producer]
	p.pending.Add(1)
	select {
	case p.Input() <- message:
		return nil, nil
	case <-ctx.Done():
		p.pending.Done()
		return nil, adapter.ErrUnanswered
	}
}

// sarama has no flush; this waits for the outcome of what was sent.
func flush(ctx context.Context, c *command) (fields, error) {
	return nil, adapter.Within(ctx, func() error { producers[c.Producer].pending.Wait(); return nil })
}

func transaction(do func(*producer, *command) error) func(context.Context, *command) (fields, error) {
	return func(ctx context.Context, c *command) (fields, error) {
		p := producers[c.Producer]
		if !p.IsTransactional() {
			return nil, sarama.ErrNonTransactedProducer
		}
		return nil, adapter.Within(ctx, func() error { return p.named(do(p, c)) })
	}
}

func sendOffsets(p *producer, c *command) error {
	offsets := map[string][]*sarama.PartitionOffsetMetadata{}
	for topic, partitions := range c.Offsets {
		for partition, offset := range partitions {
			offsets[topic] = append(offsets[topic], &sarama.PartitionOffsetMetadata{Partition: partition, Offset: offset})
		}
	}
	member := consumers[c.Consumer]
	if session := member.session(); session != nil {
		return p.AddOffsetsToTxnWithGroupMetadata(offsets, sarama.NewConsumerGroupMetadataFromSession(session, member.groupID, nil))
	}
	return p.AddOffsetsToTxn(offsets, member.groupID)
}
