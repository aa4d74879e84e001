package main

import (
	"context"

	"github.com/segmentio/kafka-go"
)

func addAdminCommands(commands map[string]func(context.Context, *command) (fields, error)) {
	commands["admin"] = func(_ context.Context, c *command) (fields, error) {
		transport, err := newTransport(c.Settings)
		if err != nil {
			return nil, err
		}
		admin := &kafka.Client{Addr: kafka.TCP(servers(c)...), Transport: transport}
		setDuration(c.Settings, "request_timeout_ms", &admin.Timeout)
		admins[c.ID] = admin
		return nil, nil
	}
	for name, do := range adminCommands {
		commands[name] = func(ctx context.Context, c *command) (fields, error) { return do(ctx, admins[c.Admin], c) }
	}
}

// The error of the one thing that a request names.
func first(errs map[string]error) error {
	for _, err := range errs {
		return err
	}
	return nil
}

var adminCommands = map[string]func(context.Context, *kafka.Client, *command) (fields, error){
	"create_topic": func(ctx context.Context, admin *kafka.Client, c *command) (fields, error) {
		answer, err := admin.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
			Topic: c.Topic, NumPartitions: c.Partitions, ReplicationFactor: int(c.ReplicationFactor)}}})
		if err != nil {
			return nil, err
		}
		return nil, first(answer.Errors)
	},
	"delete_topic": func(ctx context.Context, admin *kafka.Client, c *command) (fields, error) {
		answer, err := admin.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{c.Topic}})
		if err != nil {
			return nil, err
		}
		return nil, first(answer.Errors)
	},
	"create_partitions": func(ctx context.Context, admin *kafka.Client, c *command) (fields, error) {
		answer, err := admin.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: c.Topic, Count: int32(c.Partitions)}}})
		if err != nil {
			return nil, err
		}
		return nil, first(answer.Errors)
	},
	"describe_topic": func(ctx context.Context, admin *kafka.Client, c *command) (fields, error) {
		answer, err := admin.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{c.Topic}})
		if err != nil {
			return nil, err
		}
		for _, topic := range answer.Topics {
			return fields{"partitions": len(topic.Partitions)}, topic.Error
		}
		return nil, kafka.UnknownTopicOrPartition
	},
	"list_topics": func(ctx context.Context, admin *kafka.Client, _ *command) (fields, error) {
		answer, err := admin.Metadata(ctx, &kafka.MetadataRequest{})
		if err != nil {
			return nil, err
		}
		names := []string{}
		for _, topic := range answer.Topics {
			names = append(names, topic.Name)
		}
		return fields{"topics": names}, nil
	},
	"describe_configs": func(ctx context.Context, admin *kafka.Client, c *command) (fields, error) {
		answer, err := admin.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
			Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: c.Topic}}})
		if err != nil {
			return nil, err
		}
		configs := map[string]string{}
		for _, resource := range answer.Resources {
			err = resource.Error
			for _, entry := range resource.ConfigEntries {
				configs[entry.ConfigName] = entry.ConfigValue
			}
		}
		return fields{"configs": configs}, err
	},
	"alter_config": func(ctx context.Context, admin *kafka.Client, c *command) (fields, error) {
		resource := kafka.IncrementalAlterConfigsRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: c.Topic}
		for name, value := range c.Config {
			resource.Configs = append(resource.Configs, kafka.IncrementalAlterConfigsRequestConfig{Name: name, Value: value})
		}
		answer, err := admin.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
			Resources: []kafka.IncrementalAlterConfigsRequestResource{resource}})
		if err != nil {
			return nil, err
		}
		return nil, answer.Resources[0].Error
	},
	"list_groups": func(ctx context.Context, admin *kafka.Client, _ *command) (fields, error) {
		answer, err := admin.ListGroups(ctx, &kafka.ListGroupsRequest{})
		if err != nil {
			return nil, err
		}
		names := []string{}
		for _, group := range answer.Groups {
			names = append(names, group.GroupID)
		}
		return fields{"groups": names}, answer.Error
	},
	"describe_group": func(ctx context.Context, admin *kafka.Client, c *command) (fields, error) {
		answer, err := admin.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{c.Group}})
		if err != nil {
			return nil, err
		}
		group := answer.Groups[0]
		return fields{"state": group.GroupState, "members": len(group.Members)}, group.Error
	},
	"delete_group": func(ctx context.Context, admin *kafka.Client, c *command) (fields, error) {
		answer, err := admin.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{c.Group}})
		if err != nil {
			return nil, err
		}
		return nil, first(answer.Errors)
	},
	"describe_cluster": func(ctx context.Context, admin *kafka.Client, _ *command) (fields, error) {
		answer, err := admin.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}})
		if err != nil {
			return nil, err
		}
		ids := []int{}
		for _, broker := range answer.Brokers {
			ids = append(ids, broker.ID)
		}
		return fields{"brokers": ids, "controller": answer.Controller.ID}, nil
	},
}
