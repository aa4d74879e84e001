// franz-go: `produce SERVERS TOPIC COUNT`, or `consume` or `copy SERVERS TOPIC COUNT GROUP`; prints tab between words.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions = 2
	deadline   = 30 * time.Second
)

func main() {
	scenario, servers, topic := os.Args[1], os.Args[2], os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	seeds := kgo.SeedBrokers(strings.Split(servers, ",")...)
	switch scenario {
	case "produce":
		produce(ctx, seeds, topic, count)
	case "consume":
		consume(ctx, seeds, topic, count, os.Args[5])
	case "copy":
		copyInTransactions(ctx, seeds, topic, count, os.Args[5])
	}
}

// Idempotent, as franz-go is unless told otherwise; every record is acknowledged.
func produce(ctx context.Context, seeds kgo.Opt, topic string, count int) {
	client, err := kgo.NewClient(seeds,
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(512),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.MetadataMinAge(10*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond }))
	check(err)
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(ctx, partitions, 1, nil, topic)
	check(err)
	records := make([]*kgo.Record, count)
	for number := range records {
		text := []byte(strconv.Itoa(number))
		records[number] = &kgo.Record{
			Topic:     topic,
			Partition: int32(number % partitions),
			Key:       []byte("key"),
			Value:     text,
			Headers:   []kgo.RecordHeader{{Key: "number", Value: text}},
			Timestamp: time.UnixMilli(int64(1000 + number)),
		}
	}
	check(client.ProduceSync(ctx, records...).FirstErr())
}

// As a member of a group; commits just what it printed.
func consume(ctx context.Context, seeds kgo.Opt, topic string, count int, group string) {
	client, err := kgo.NewClient(seeds,
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit())
	check(err)
	defer client.Close()
	for read := 0; read < count; {
		fetches := client.PollRecords(ctx, count-read)
		check(fetches.Err())
		for _, record := range fetches.Records() {
			fmt.Printf("%d\t%d\t%d\t%s\t%s\t%s\n", record.Partition, record.Offset,
				record.Timestamp.UnixMilli(), record.Key, record.Value, record.Headers[0].Value)
		}
		check(client.CommitRecords(ctx, fetches.Records()...))
		read += fetches.NumRecords()
	}
}

// Copies records to another topic, in transactions with their offsets; every third one is aborted.
func copyInTransactions(ctx context.Context, seeds kgo.Opt, topic string, count int, group string) {
	session, err := kgo.NewGroupTransactSession(seeds,
		kgo.TransactionalID(group),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.FetchMaxWait(50*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond }))
	check(err)
	defer session.Close()
	for copied, round := 0, 1; copied < count; round++ {
		fetches := session.PollRecords(ctx, 10)
		check(fetches.Err())
		check(session.Begin())
		for _, record := range fetches.Records() {
			session.Produce(ctx, &kgo.Record{Topic: topic + "-copy", Value: record.Value},
				func(_ *kgo.Record, err error) { check(err) })
		}
		check(session.Client().Flush(ctx))
		isCommitted, err := session.End(ctx, kgo.TransactionEndTry(round%3 != 0))
		check(err)
		if isCommitted {
			copied += fetches.NumRecords()
		}
		fmt.Printf("end\t%t\n", isCommitted)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
