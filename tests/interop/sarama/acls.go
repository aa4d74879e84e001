package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

// `create TYPE NAME PATTERN PRINCIPAL HOST OPERATION PERMISSION`, `list`, `delete TYPE NAME`,
// `produce TOPIC VALUE` or `consume TOPIC GROUP` as a user, with SASL/PLAIN. Prints rules, the value of
// the first record, or `error` and the name of the library's error.
func acls(command string, servers []string, user, password string, words []string) {
	config := sarama.NewConfig()
	config.Net.SASL.Enable = true
	config.Net.SASL.Mechanism = sarama.SASLTypePlaintext
	config.Net.SASL.User, config.Net.SASL.Password = user, password
	config.Producer.Return.Successes = true
	config.Consumer.Return.Errors = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	// sarama retries GROUP_AUTHORIZATION_FAILED, by default for 14 s.
	config.Metadata.Retry.Backoff = 10 * time.Millisecond
	config.Consumer.Group.Rebalance.Retry.Backoff = 10 * time.Millisecond
	switch command {
	case "produce":
		report(send(servers, config, words[0], words[1]))
	case "consume":
		report(readOne(servers, config, words[0], words[1]))
	default:
		admin, err := sarama.NewClusterAdmin(servers, config)
		check(err)
		report(administer(admin, command, words))
		check(admin.Close())
	}
}

func administer(admin sarama.ClusterAdmin, command string, words []string) error {
	filter := sarama.AclFilter{
		ResourceType:              sarama.AclResourceAny,
		ResourcePatternTypeFilter: sarama.AclPatternAny,
		Operation:                 sarama.AclOperationAny,
		PermissionType:            sarama.AclPermissionAny,
	}
	switch command {
	case "create":
		var resource sarama.Resource
		var acl sarama.Acl
		check(resource.ResourceType.UnmarshalText([]byte(words[0])))
		resource.ResourceName = words[1]
		check(resource.ResourcePatternType.UnmarshalText([]byte(words[2])))
		acl.Principal, acl.Host = words[3], words[4]
		check(acl.Operation.UnmarshalText([]byte(words[5])))
		check(acl.PermissionType.UnmarshalText([]byte(words[6])))
		return admin.CreateACL(resource, acl)
	case "list":
		found, err := admin.ListAcls(filter)
		for _, resource := range found {
			for _, acl := range resource.Acls {
				printRule(resource.Resource, *acl)
			}
		}
		return err
	case "delete":
		check(filter.ResourceType.UnmarshalText([]byte(words[0])))
		filter.ResourceName = &words[1]
		filter.ResourcePatternTypeFilter = sarama.AclPatternMatch
		deleted, err := admin.DeleteACL(filter, false)
		for _, matching := range deleted {
			if matching.Err != sarama.ErrNoError {
				return matching.Err
			}
			printRule(matching.Resource, matching.Acl)
		}
		return err
	}
	return fmt.Errorf("no such command: %s", command)
}

func printRule(resource sarama.Resource, acl sarama.Acl) {
	fmt.Println(strings.Join([]string{resource.ResourceType.String(), resource.ResourceName,
		resource.ResourcePatternType.String(), acl.Principal, acl.Host, acl.Operation.String(),
		acl.PermissionType.String()}, "\t"))
}

func send(servers []string, config *sarama.Config, topic, value string) error {
	producer, err := sarama.NewSyncProducer(servers, config)
	check(err)
	defer producer.Close()
	_, _, err = producer.SendMessage(
		&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)})
	return err
}

func readOne(servers []string, config *sarama.Config, topic, name string) error {
	group, err := sarama.NewConsumerGroup(servers, name, config)
	check(err)
	defer group.Close() // it leaves the group, so that the next member does not wait for it
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- group.Consume(ctx, []string{topic}, firstRecord{cancel}) }()
	select {
	case err = <-ended:
	case err = <-group.Errors():
	}
	cancel()
	return err
}

// Prints the first record that the member gets, and ends its session.
type firstRecord struct{ end context.CancelFunc }

func (firstRecord) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (firstRecord) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (first firstRecord) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	if record, isOpen := <-claim.Messages(); isOpen {
		fmt.Printf("record\t%s\n", record.Value)
		first.end()
	}
	return nil
}

func report(err error) {
	for name, target := range map[string]error{
		"ClusterAuthorizationFailed": sarama.ErrClusterAuthorizationFailed,
		"GroupAuthorizationFailed":   sarama.ErrGroupAuthorizationFailed,
		"TopicAuthorizationFailed":   sarama.ErrTopicAuthorizationFailed,
	} {
		if errors.Is(err, target) {
			fmt.Printf("error\t%s\n", name)
			return
		}
	}
	check(err)
}
