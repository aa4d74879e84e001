package main

import (
	"context"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const recordsPerSecond = 200

// The work of benchmarks/client_work.py, with the defaults of franz-go.
func work(ctx context.Context, seeds kgo.Opt, topic string, count int) {
	value := strings.Repeat("v", 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		consumer, err := kgo.NewClient(seeds, kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		check(err)
		for left := count; left > 0; {
			fetches := consumer.PollFetches(ctx)
			check(fetches.Err())
			left -= fetches.NumRecords()
		}
		consumer.Close()
	}()
	producer, err := kgo.NewClient(seeds, kgo.DefaultProduceTopic(topic))
	check(err)
	start := time.Now()
	for number := range count {
		due := time.Duration(max(0, number-count/2)) * time.Second / recordsPerSecond
		time.Sleep(due - time.Since(start))
		producer.Produce(ctx, kgo.StringRecord(value), func(_ *kgo.Record, err error) { check(err) })
	}
	check(producer.Flush(ctx))
	producer.Close()
	<-done
	producer, err = kgo.NewClient(seeds, kgo.DefaultProduceTopic(topic), kgo.TransactionalID(topic))
	check(err)
	for range 2 {
		check(producer.BeginTransaction())
		for range 10 {
			producer.Produce(ctx, kgo.StringRecord(value), func(_ *kgo.Record, err error) { check(err) })
		}
		check(producer.Flush(ctx))
		check(producer.EndTransaction(ctx, kgo.TryCommit))
	}
	producer.Close()
}
