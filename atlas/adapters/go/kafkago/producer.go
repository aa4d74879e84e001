package main

import (
	"context"
	"sync"

	"github.com/segmentio/kafka-go"

	"mockkafka.test/adapter"
)

const queueLength = 10_000

// One goroutine writes the records in their order: even an asynchronous WriteMessages waits for metadata.
type producer struct {
	writer  *kafka.Writer
	queue   chan kafka.Message
	pending sync.WaitGroup
	closed  sync.Once
	written chan struct{}
}

// What a record keeps: kafka-go has no partition of a record that is not written yet.
type sent struct{ n, partition int }

func openProducer(_ context.Context, c *command) (fields, error) {
	settings := c.Settings
	if settings.Text("transactional_id") != "" { // "idempotent" is reported as ignored
		return nil, adapter.ErrUnsupported
	}
	transport, err := newTransport(settings)
	if err != nil {
		return nil, err
	}
	p := &producer{queue: make(chan kafka.Message, queueLength), written: make(chan struct{})}
	p.writer = &kafka.Writer{
		Addr:        kafka.TCP(servers(c)...),
		Balancer:    kafka.BalancerFunc(func(message kafka.Message, _ ...int) int { return message.WriterData.(sent).partition }),
		Async:       true,
		Completion:  p.completed,
		Transport:   transport,
		Logger:      logger,
		ErrorLogger: logger,
	}
	if acks, isThere := settings.Int("acks"); isThere {
		p.writer.RequiredAcks = kafka.RequiredAcks(acks)
	}
	if count, isThere := settings.Int("retries"); isThere {
		p.writer.MaxAttempts = count + 1
	}
	if linger, isThere := settings.Duration("linger_ms"); isThere {
		p.writer.BatchTimeout = max(1, linger) // 0 means a second to kafka-go
	}
	setDuration(settings, "request_timeout_ms", &p.writer.ReadTimeout, &p.writer.WriteTimeout)
	setDuration(settings, "retry_backoff_ms", &p.writer.WriteBackoffMin, &p.writer.WriteBackoffMax)
	if name := settings.Text("compression"); name != "" {
		p.writer.Compression = map[string]kafka.Compression{
			"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}[name]
	}
	producers[c.ID] = p
	go p.write()
	return nil, nil
}

func (p *producer) write() {
	defer close(p.written)
	for message := range p.queue {
		if err := p.writer.WriteMessages(context.Background(), message); err != nil {
			p.completed([]kafka.Message{message}, err)
		}
	}
}

func (p *producer) completed(messages []kafka.Message, err error) {
	for _, message := range messages {
		client.Delivered(message.WriterData.(sent).n, message.Offset, err)
		p.pending.Done()
	}
}

func (p *producer) close() {
	p.closed.Do(func() { close(p.queue) })
	<-p.written
	p.writer.Close()
	p.writer.Transport.(*kafka.Transport).CloseIdleConnections()
}

func send(_ context.Context, c *command) (fields, error) {
	p := producers[c.Producer]
	p.pending.Add(1)
	p.queue <- kafka.Message{Topic: c.Topic, Key: adapter.Bytes(c.Key), Value: adapter.Bytes(c.Value),
		WriterData: sent{c.N, int(c.Partition)}}
	return nil, nil
}

// kafka-go has no flush; this waits for the outcome of what was sent.
func flush(ctx context.Context, c *command) (fields, error) {
	return nil, adapter.Within(ctx, func() error { producers[c.Producer].pending.Wait(); return nil })
}
