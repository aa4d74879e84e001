package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"mockkafka.test/adapter"
)

func addAdminCommands(commands map[string]func(context.Context, *command) (fields, error)) {
	commands["admin"] = func(_ context.Context, c *command) (fields, error) {
		opts := []kgo.Opt{}
		if timeout, isThere := c.Settings.Duration("request_timeout_ms"); isThere {
			opts = append(opts, kgo.RequestTimeoutOverhead(max(requestTimeoutMin, timeout)))
		}
		if count, isThere := c.Settings.Int("retries"); isThere {
			opts = append(opts, kgo.RequestRetries(count))
		}
		_, err := open(c, opts)
		return nil, err
	}
	for name, do := range adminCommands {
		commands[name] = func(ctx context.Context, c *command) (fields, error) {
			admin := kadm.NewClient(clients[c.Admin])
			if c.TimeoutMs > 0 {
				admin.SetTimeoutMillis(int32(c.TimeoutMs))
			}
			return do(ctx, admin, c)
		}
	}
}

var adminCommands = map[string]func(context.Context, *kadm.Client, *command) (fields, error){
	"create_topic": func(ctx context.Context, admin *kadm.Client, c *command) (fields, error) {
		_, err := admin.CreateTopic(ctx, int32(c.Partitions), c.ReplicationFactor, nil, c.Topic)
		return nil, err
	},
	"delete_topic": func(ctx context.Context, admin *kadm.Client, c *command) (fields, error) {
		_, err := admin.DeleteTopic(ctx, c.Topic)
		return nil, err
	},
	"create_partitions": func(ctx context.Context, admin *kadm.Client, c *command) (fields, error) {
		answers, err := admin.UpdatePartitions(ctx, c.Partitions, c.Topic)
		if err == nil {
			err = answers.Error()
		}
		return nil, err
	},
	"describe_topic": func(ctx context.Context, admin *kadm.Client, c *command) (fields, error) {
		topics, err := admin.ListTopics(ctx, c.Topic)
		if err == nil {
			err = topics.Error()
		}
		return fields{"partitions": len(topics[c.Topic].Partitions)}, err
	},
	"list_topics": func(ctx context.Context, admin *kadm.Client, _ *command) (fields, error) {
		topics, err := admin.ListTopics(ctx)
		return fields{"topics": topics.Names()}, err
	},
	"describe_configs": func(ctx context.Context, admin *kadm.Client, c *command) (fields, error) {
		resources, err := admin.DescribeTopicConfigs(ctx, c.Topic)
		if err != nil {
			return nil, err
		}
		resource, err := resources.On(c.Topic, nil)
		configs := map[string]*string{}
		for _, config := range resource.Configs {
			configs[config.Key] = config.Value
		}
		if err == nil {
			err = resource.Err
		}
		return fields{"configs": configs}, err
	},
	"alter_config": func(ctx context.Context, admin *kadm.Client, c *command) (fields, error) {
		configs := []kadm.AlterConfig{}
		for name, value := range c.Config {
			configs = append(configs, kadm.AlterConfig{Name: name, Value: &value})
		}
		answers, err := admin.AlterTopicConfigs(ctx, configs, c.Topic)
		for _, answer := range answers {
			err = answer.Err
		}
		return nil, err
	},
	"list_groups": func(ctx context.Context, admin *kadm.Client, _ *command) (fields, error) {
		groups, err := admin.ListGroups(ctx)
		return fields{"groups": groups.Groups()}, err
	},
	"describe_group": func(ctx context.Context, admin *kadm.Client, c *command) (fields, error) {
		groups, err := admin.DescribeGroups(ctx, c.Group)
		if err == nil {
			err = groups.Error()
		}
		group := groups[c.Group]
		return fields{"state": group.State, "members": len(group.Members)}, err
	},
	"delete_group": func(ctx context.Context, admin *kadm.Client, c *command) (fields, error) {
		_, err := admin.DeleteGroup(ctx, c.Group)
		return nil, err
	},
	"delete_records": func(ctx context.Context, admin *kadm.Client, c *command) (fields, error) {
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: c.Topic, Partition: c.Partition, At: c.Offset, LeaderEpoch: -1})
		answers, err := admin.DeleteRecords(ctx, offsets)
		if err == nil {
			err = answers.Error()
		}
		return nil, err
	},
	"describe_cluster": func(ctx context.Context, admin *kadm.Client, _ *command) (fields, error) {
		metadata, err := admin.BrokerMetadata(ctx)
		return fields{"brokers": metadata.Brokers.NodeIDs()}, err
	},
}

func committed(ctx context.Context, c *command) (fields, error) {
	group := groups[c.Consumer]
	if group == "" {
		return nil, adapter.ErrUnsupported
	}
	answers, err := kadm.NewClient(clients[c.Consumer]).FetchOffsets(ctx, group)
	if err != nil {
		return nil, err
	}
	answer, isThere := answers.Lookup(c.Topic, c.Partition)
	if !isThere || answer.Err != nil || answer.At < 0 {
		return fields{"offset": nil}, answer.Err
	}
	return fields{"offset": answer.At}, nil
}
