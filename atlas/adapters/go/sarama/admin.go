package main

import (
	"context"
	"sort"

	"github.com/IBM/sarama"

	"mockkafka.test/adapter"
)

func addAdminCommands(commands map[string]func(context.Context, *command) (fields, error)) {
	commands["admin"] = func(ctx context.Context, c *command) (fields, error) {
		config, err := newConfig(c.Settings)
		if err != nil {
			return nil, err
		}
		if count, isThere := c.Settings.Int("retries"); isThere {
			config.Admin.Retry.Max = count
		}
		setDuration(c.Settings, "retry_backoff_ms", &config.Admin.Retry.Backoff)
		return nil, adapter.Within(ctx, func() error {
			admin, err := sarama.NewClusterAdmin(servers(c), config)
			if err == nil {
				admins[c.ID] = admin
			}
			return err
		})
	}
	for name, do := range adminCommands {
		commands[name] = func(ctx context.Context, c *command) (result fields, _ error) {
			admin := admins[c.Admin]
			err := adapter.Within(ctx, func() (err error) {
				result, err = do(admin, c)
				return
			})
			return result, err
		}
	}
}

var adminCommands = map[string]func(sarama.ClusterAdmin, *command) (fields, error){
	"create_topic": func(admin sarama.ClusterAdmin, c *command) (fields, error) {
		detail := &sarama.TopicDetail{
			NumPartitions: int32(c.Partitions), ReplicationFactor: c.ReplicationFactor}
		return nil, admin.CreateTopic(c.Topic, detail, false)
	},
	"delete_topic": func(admin sarama.ClusterAdmin, c *command) (fields, error) {
		return nil, admin.DeleteTopic(c.Topic)
	},
	"create_partitions": func(admin sarama.ClusterAdmin, c *command) (fields, error) {
		return nil, admin.CreatePartitions(c.Topic, int32(c.Partitions), nil, false)
	},
	"describe_topic": func(admin sarama.ClusterAdmin, c *command) (fields, error) {
		topics, err := admin.DescribeTopics([]string{c.Topic})
		if err != nil {
			return nil, err
		}
		if topics[0].Err != sarama.ErrNoError {
			return nil, topics[0].Err
		}
		return fields{"partitions": len(topics[0].Partitions)}, nil
	},
	"list_topics": func(admin sarama.ClusterAdmin, _ *command) (fields, error) {
		topics, err := admin.ListTopics()
		return fields{"topics": keys(topics)}, err
	},
	"describe_configs": func(admin sarama.ClusterAdmin, c *command) (fields, error) {
		entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: c.Topic})
		configs := map[string]string{}
		for _, entry := range entries {
			configs[entry.Name] = entry.Value
		}
		return fields{"configs": configs}, err
	},
	"alter_config": func(admin sarama.ClusterAdmin, c *command) (fields, error) {
		entries := map[string]sarama.IncrementalAlterConfigsEntry{}
		for name, value := range c.Config {
			entries[name] = sarama.IncrementalAlterConfigsEntry{
				Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}
		}
		return nil, admin.IncrementalAlterConfig(sarama.TopicResource, c.Topic, entries, false)
	},
	"list_groups": func(admin sarama.ClusterAdmin, _ *command) (fields, error) {
		groups, err := admin.ListConsumerGroups()
		return fields{"groups": keys(groups)}, err
	},
	"describe_group": func(admin sarama.ClusterAdmin, c *command) (fields, error) {
		groups, err := admin.DescribeConsumerGroups([]string{c.Group})
		if err != nil {
			return nil, err
		}
		if groups[0].Err != sarama.ErrNoError {
			return nil, groups[0].Err
		}
		return fields{"state": groups[0].State, "members": len(groups[0].Members)}, nil
	},
	"delete_group": func(admin sarama.ClusterAdmin, c *command) (fields, error) {
		return nil, admin.DeleteConsumerGroup(c.Group)
	},
	"delete_records": func(admin sarama.ClusterAdmin, c *command) (fields, error) {
		return nil, admin.DeleteRecords(c.Topic, map[int32]int64{c.Partition: c.Offset})
	},
	"describe_cluster": func(admin sarama.ClusterAdmin, _ *command) (fields, error) {
		brokers, controller, err := admin.DescribeCluster()
		ids := []int32{}
		for _, broker := range brokers {
			ids = append(ids, broker.ID())
		}
		return fields{"brokers": ids, "controller": controller}, err
	},
}

func keys[V any](entries map[string]V) []string {
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
