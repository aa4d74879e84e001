package main

import (
	"time"

	"github.com/IBM/sarama"

	"mockkafka.test/adapter"
)

func producerConfig(settings adapter.Settings) (*sarama.Config, error) {
	config, err := newConfig(settings)
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	if acks, isThere := settings.Int("acks"); isThere {
		config.Producer.RequiredAcks = sarama.RequiredAcks(acks)
	}
	if count, isThere := settings.Int("max_in_flight"); isThere {
		config.Net.MaxOpenRequests = count
	}
	if id := settings.Text("transactional_id"); id != "" {
		config.Producer.Transaction.ID = id
	}
	// What sarama demands of an idempotent producer.
	if settings.Bool("idempotent", false) || config.Producer.Transaction.ID != "" {
		config.Producer.Idempotent = true
		config.Producer.RequiredAcks = sarama.WaitForAll
		config.Net.MaxOpenRequests = 1
	}
	for name, target := range map[string]*time.Duration{
		"transaction_timeout_ms": &config.Producer.Transaction.Timeout,
		"request_timeout_ms":     &config.Producer.Timeout,
		"linger_ms":              &config.Producer.Flush.Frequency,
		"retry_backoff_ms":       &config.Producer.Retry.Backoff,
	} {
		setDuration(settings, name, target)
	}
	config.Producer.Transaction.Retry.Backoff = config.Producer.Retry.Backoff
	if count, isThere := settings.Int("retries"); isThere {
		config.Producer.Retry.Max = count
	}
	if name := settings.Text("compression"); name != "" {
		config.Producer.Compression = map[string]sarama.CompressionCodec{
			"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
			"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD}[name]
	}
	return config, err
}

func consumerConfig(settings adapter.Settings) (*sarama.Config, error) {
	config, err := newConfig(settings)
	config.Consumer.Return.Errors = true
	if settings.Text("group_protocol") == "consumer" {
		return nil, adapter.ErrUnsupported
	}
	config.Consumer.Group.InstanceId = settings.Text("instance_id")
	if settings.Text("isolation") == "read_committed" {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	if initial, isThere := adapter.Choice(settings, "auto_offset_reset", map[string]int64{
		"earliest": sarama.OffsetOldest, "latest": sarama.OffsetNewest,
	}); isThere {
		config.Consumer.Offsets.Initial = initial
	}
	config.Consumer.Offsets.AutoCommit.Enable = settings.Bool("auto_commit", true)
	setDuration(settings, "session_timeout_ms", &config.Consumer.Group.Session.Timeout)
	setDuration(settings, "heartbeat_interval_ms", &config.Consumer.Group.Heartbeat.Interval)
	setDuration(settings, "fetch_max_wait_ms", &config.Consumer.MaxWaitTime)
	setDuration(settings, "retry_backoff_ms", &config.Consumer.Retry.Backoff)
	setDuration(settings, "retry_backoff_ms", &config.Consumer.Group.Rebalance.Retry.Backoff)
	if strategy, isThere := adapter.Choice(settings, "assignor", map[string]sarama.BalanceStrategy{
		"range": sarama.NewBalanceStrategyRange(), "roundrobin": sarama.NewBalanceStrategyRoundRobin(),
		"sticky": sarama.NewBalanceStrategySticky(), "cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky(),
	}); isThere {
		config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	}
	return config, err
}

// What all clients have. ErrUnsupported: a mechanism for which sarama needs other software.
func newConfig(settings adapter.Settings) (*sarama.Config, error) {
	config := sarama.NewConfig()
	for _, target := range []*time.Duration{&config.Net.DialTimeout, &config.Net.ReadTimeout, &config.Net.WriteTimeout} {
		setDuration(settings, "request_timeout_ms", target)
	}
	setDuration(settings, "request_timeout_ms", &config.Admin.Timeout)
	setDuration(settings, "retry_backoff_ms", &config.Metadata.Retry.Backoff)
	setDuration(settings, "retry_backoff_ms", &config.Admin.Retry.Backoff)
	setDuration(settings, "metadata_max_age_ms", &config.Metadata.RefreshFrequency)
	if user := settings.Security(); user != nil {
		if user.Mechanism != sarama.SASLTypePlaintext {
			return config, adapter.ErrUnsupported
		}
		config.Net.SASL.Enable = true
		config.Net.SASL.User, config.Net.SASL.Password = user.Username, user.Password
	}
	return config, nil
}

func setDuration(settings adapter.Settings, name string, target *time.Duration) {
	if value, isThere := settings.Duration(name); isThere {
		*target = value
	}
}
