package main

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"mockkafka.test/adapter"
)

// franz-go accepts nothing shorter for requests and metadata.
const (
	requestTimeoutMin = 100 * time.Millisecond
	metadataAgeMin    = 10 * time.Millisecond
	metadataAge       = 5 * time.Second
)

func producerOpts(settings adapter.Settings) []kgo.Opt {
	opts := []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}
	if acks, isThere := settings.Int("acks"); isThere {
		opts = append(opts, kgo.RequiredAcks(map[int]kgo.Acks{-1: kgo.AllISRAcks(), 0: kgo.NoAck(), 1: kgo.LeaderAck()}[acks]))
	}
	if !settings.Bool("idempotent", true) {
		opts = append(opts, kgo.DisableIdempotentWrite())
		if count, isThere := settings.Int("max_in_flight"); isThere {
			opts = append(opts, kgo.MaxProduceRequestsInflightPerBroker(count))
		}
	}
	if id := settings.Text("transactional_id"); id != "" {
		opts = append(opts, kgo.TransactionalID(id))
	}
	if timeout, isThere := settings.Duration("transaction_timeout_ms"); isThere {
		opts = append(opts, kgo.TransactionTimeout(timeout))
	}
	if timeout, isThere := settings.Duration("delivery_timeout_ms"); isThere {
		opts = append(opts, kgo.RecordDeliveryTimeout(timeout))
	}
	// The client waits for a Produce response for both times together.
	if timeout, isThere := settings.Duration("request_timeout_ms"); isThere {
		half := max(requestTimeoutMin, timeout/2)
		opts = append(opts, kgo.ProduceRequestTimeout(half), kgo.RequestTimeoutOverhead(half))
	}
	if linger, isThere := settings.Duration("linger_ms"); isThere {
		opts = append(opts, kgo.ProducerLinger(linger))
	}
	if count, isThere := settings.Int("retries"); isThere {
		opts = append(opts, kgo.RecordRetries(count))
	}
	if name := settings.Text("compression"); name != "" {
		opts = append(opts, kgo.ProducerBatchCompression(map[string]kgo.CompressionCodec{
			"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
			"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}[name]))
	}
	return opts
}

func consumerOpts(c *command) []kgo.Opt {
	settings, opts := c.Settings, []kgo.Opt{}
	if wait, isThere := settings.Duration("fetch_max_wait_ms"); isThere {
		opts = append(opts, kgo.FetchMaxWait(max(metadataAgeMin, wait)))
	}
	if timeout, isThere := settings.Duration("request_timeout_ms"); isThere {
		opts = append(opts, kgo.RequestTimeoutOverhead(max(requestTimeoutMin, timeout)))
	}
	group := settings.Text("group")
	if c.Command == "share_consumer" {
		return append(opts, kgo.ShareGroup(group), kgo.ShareAckCallback(refused.keep), kgo.ConsumeTopics(c.Topics...))
	}
	if settings.Text("isolation") == "read_committed" {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	start, isThere := adapter.Choice(settings, "auto_offset_reset", map[string]kgo.Offset{
		"earliest": kgo.NewOffset().AtStart(), "latest": kgo.NewOffset().AtEnd(), "none": kgo.NoResetOffset(),
	})
	if isThere {
		opts = append(opts, kgo.ConsumeResetOffset(start))
	} else {
		start = kgo.NewOffset().AtStart()
	}
	if c.Assign != nil {
		partitions := map[string]map[int32]kgo.Offset{}
		for topic, numbers := range c.Assign {
			partitions[topic] = map[int32]kgo.Offset{}
			for _, number := range numbers {
				partitions[topic][number] = start
			}
		}
		return append(opts, kgo.ConsumePartitions(partitions))
	}
	opts = append(opts, kgo.ConsumeTopics(c.Topics...))
	if group == "" {
		return opts
	}
	return append(opts, groupOpts(settings, group)...)
}

func groupOpts(settings adapter.Settings, group string) []kgo.Opt {
	opts := []kgo.Opt{kgo.ConsumerGroup(group)}
	if id := settings.Text("instance_id"); id != "" {
		opts = append(opts, kgo.InstanceID(id))
	}
	if settings.Text("group_protocol") == "consumer" {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	if !settings.Bool("auto_commit", true) {
		opts = append(opts, kgo.DisableAutoCommit())
	}
	if timeout, isThere := settings.Duration("session_timeout_ms"); isThere {
		opts = append(opts, kgo.SessionTimeout(timeout))
	}
	if interval, isThere := settings.Duration("heartbeat_interval_ms"); isThere {
		opts = append(opts, kgo.HeartbeatInterval(interval))
	}
	if balancer, isThere := adapter.Choice(settings, "assignor", map[string]kgo.GroupBalancer{
		"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(), "sticky": kgo.StickyBalancer(),
		"cooperative-sticky": kgo.CooperativeStickyBalancer(),
	}); isThere {
		opts = append(opts, kgo.Balancers(balancer))
	}
	return opts
}

// A retry of records waits for metadata, which franz-go asks for every five seconds at most. Who sets
// a backoff gets it for both.
func connectionOpts(settings adapter.Settings) []kgo.Opt {
	opts, ageMin := []kgo.Opt{}, metadataAge
	if backoff, isThere := settings.Duration("retry_backoff_ms"); isThere {
		ageMin = max(metadataAgeMin, backoff)
		opts = append(opts, kgo.RetryBackoffFn(func(int) time.Duration { return backoff }))
	}
	if age, isThere := settings.Duration("metadata_max_age_ms"); isThere {
		opts = append(opts, kgo.MetadataMaxAge(age))
		ageMin = min(ageMin, age)
	}
	opts = append(opts, kgo.MetadataMinAge(ageMin))
	if user := settings.Security(); user != nil {
		both := scram.Auth{User: user.Username, Pass: user.Password, IsToken: settings.Bool("token_auth", false)}
		opts = append(opts, kgo.SASL(map[string]sasl.Mechanism{
			"PLAIN":         plain.Auth{User: user.Username, Pass: user.Password}.AsMechanism(),
			"SCRAM-SHA-256": both.AsSha256Mechanism(),
			"SCRAM-SHA-512": both.AsSha512Mechanism(),
		}[user.Mechanism]))
	}
	return opts
}
