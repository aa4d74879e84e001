// franz-go: `produce SERVERS TOPIC COUNT`, `consume` or `copy SERVERS TOPIC COUNT GROUP`,
// `fence SERVERS TOPIC 0`, `recreate SERVERS TOPIC MILLISECONDS`, `divide` or `share SERVERS TOPIC COUNT
// GROUP`, `stay SERVERS TOPIC 0 GROUP PROTOCOL`, `soak SERVERS TOPIC RATE GROUP`, `work SERVERS TOPIC
// COUNT`, or `acls COMMAND SERVERS USER PASSWORD WORDS`; prints tab between words.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	partitions = 2
	deadline   = 30 * time.Second
)

func main() {
	if os.Args[1] == "acls" {
		acls(os.Args[2], strings.Split(os.Args[3], ","), os.Args[4], os.Args[5], os.Args[6:])
		return
	}
	scenario, servers, topic := os.Args[1], os.Args[2], os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	seeds := kgo.SeedBrokers(strings.Split(servers, ",")...)
	switch scenario {
	case "produce":
		produce(ctx, seeds, topic, count)
	case "recreate":
		recreate(ctx, seeds, topic, time.Duration(count)*time.Millisecond)
	case "measure":
		measure(ctx, seeds, topic, count, os.Args[5])
	case "consume":
		consume(ctx, seeds, topic, count, os.Args[5])
	case "copy":
		copyInTransactions(context.Background(), seeds, topic, count, os.Args[5]) // the test ends it
	case "fence":
		fence(ctx, seeds, topic)
	case "soak":
		soak(seeds, topic, count, os.Args[5])
	case "divide":
		divide(ctx, seeds, topic, count, os.Args[5])
	case "share":
		share(ctx, seeds, topic, count, os.Args[5])
	case "work":
		work(ctx, seeds, topic, count)
	case "stay":
		stay(ctx, seeds, topic, os.Args[5], os.Args[6])
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

// Reads a topic beside another one. Deletes it, polls on for a while, then creates it again and reads
// its new record. Prints the Fetch requests sent while the topic was missing, and the milliseconds
// from the deletion to the new record.
func recreate(ctx context.Context, seeds kgo.Opt, topic string, missing time.Duration) {
	fetches := &fetchCounter{}
	client, err := kgo.NewClient(seeds,
		kgo.ConsumeTopics(topic, topic+".kept"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100*time.Millisecond),
		kgo.WithHooks(fetches))
	check(err)
	defer client.Close()
	// Another client: the consumer's would hold on to the id of the deleted topic.
	admin := func(do func(*kgo.Client, *kadm.Client) error) {
		other, err := kgo.NewClient(seeds)
		check(err)
		defer other.Close()
		check(do(other, kadm.NewClient(other)))
	}
	write := func(other *kgo.Client, adm *kadm.Client, topics ...string) error {
		_, err := adm.CreateTopics(ctx, 1, 1, nil, topics...)
		check(err)
		for _, name := range topics {
			check(other.ProduceSync(ctx, &kgo.Record{Topic: name, Value: []byte(name)}).FirstErr())
		}
		return nil
	}
	read := func(count int) {
		for count > 0 {
			count -= client.PollFetches(ctx).NumRecords()
			check(ctx.Err())
		}
	}
	admin(func(other *kgo.Client, adm *kadm.Client) error { return write(other, adm, topic, topic+".kept") })
	read(2)
	deleted := time.Now()
	admin(func(_ *kgo.Client, adm *kadm.Client) error {
		_, err := adm.DeleteTopics(ctx, topic)
		return err
	})
	before := fetches.count.Load()
	for end := time.Now().Add(missing); time.Now().Before(end); {
		pause, cancel := context.WithDeadline(ctx, end)
		client.PollFetches(pause)
		cancel()
	}
	sent := fetches.count.Load() - before
	client.PurgeTopicsFromClient(topic)
	admin(func(other *kgo.Client, adm *kadm.Client) error { return write(other, adm, topic) })
	client.AddConsumeTopics(topic)
	read(1)
	fmt.Printf("%d\t%d\n", sent, time.Since(deleted).Milliseconds())
}

// Counts the Fetch requests that a client writes.
type fetchCounter struct{ count atomic.Int64 }

func (counter *fetchCounter) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if key == int16(kmsg.Fetch) {
		counter.count.Add(1)
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
		kgo.MetadataMinAge(10*time.Millisecond),
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

// Two clients with one transactional id: the second one ends the transaction of the first.
func fence(ctx context.Context, seeds kgo.Opt, topic string) {
	open := func(value string) *kgo.Client {
		client, err := kgo.NewClient(seeds, kgo.TransactionalID(topic), kgo.DefaultProduceTopic(topic))
		check(err)
		check(client.BeginTransaction())
		check(client.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr())
		return client
	}
	first := open("first")
	defer first.Close()
	second := open("second")
	defer second.Close()
	check(second.EndTransaction(ctx, kgo.TryCommit))
	fmt.Printf("first\t%v\n", first.EndTransaction(ctx, kgo.TryCommit))
}

// Sends `rate` numbers a second and reads them as a member of a group, and prints both. The line
// `stop` on standard input ends sending, the end of standard input everything.
func soak(seeds kgo.Opt, topic string, rate int, group string) {
	ctx, cancel := context.WithCancel(context.Background())
	client, err := kgo.NewClient(seeds,
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	check(err)
	defer client.Close()
	stopped := make(chan struct{})
	go func() {
		input := bufio.NewScanner(os.Stdin)
		if input.Scan() {
			close(stopped)
		}
		for input.Scan() {
		}
		cancel()
	}()
	go func() {
		for ctx.Err() == nil {
			client.PollFetches(ctx).EachRecord(func(record *kgo.Record) {
				fmt.Printf("read\t%s\n", record.Value)
			})
		}
	}()
	start, ticker := time.Now(), time.NewTicker(20*time.Millisecond)
	defer ticker.Stop()
	for number := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-stopped:
			check(client.Flush(ctx))
			fmt.Println("stopped")
			<-ctx.Done()
			return
		case <-ticker.C:
		}
		for ; float64(number) < time.Since(start).Seconds()*float64(rate); number++ {
			sent := number
			record := &kgo.Record{Topic: topic, Partition: int32(sent % 3), Value: []byte(strconv.Itoa(sent))}
			client.Produce(ctx, record, func(_ *kgo.Record, err error) {
				if err == nil {
					fmt.Printf("acked\t%d\n", sent)
				} else {
					fmt.Printf("failed\t%d\t%s\n", sent, strings.ReplaceAll(err.Error(), "\t", " "))
				}
			})
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
