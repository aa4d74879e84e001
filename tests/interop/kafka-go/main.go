// kafka-go: `acls COMMAND SERVERS USER PASSWORD WORDS`. The commands are `create TYPE NAME PATTERN PRINCIPAL
// HOST OPERATION PERMISSION`, `list`, `delete TYPE NAME`, `produce TOPIC VALUE` and `consume TOPIC GROUP`.
// Prints rules, the value of the first record, or `error` and the name of the library's error.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl/plain"
)

const deadline = 30 * time.Second

func main() {
	command, servers, words := os.Args[2], strings.Split(os.Args[3], ","), os.Args[6:]
	mechanism := plain.Mechanism{Username: os.Args[4], Password: os.Args[5]}
	transport := &kafka.Transport{SASL: mechanism}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	switch command {
	case "produce":
		writer := &kafka.Writer{
			Addr:         kafka.TCP(servers...),
			Topic:        words[0],
			Transport:    transport,
			RequiredAcks: kafka.RequireAll, // by default there is no answer that could have an error
			BatchTimeout: time.Millisecond,
		}
		err := writer.WriteMessages(ctx, kafka.Message{Value: []byte(words[1])})
		if perMessage, isWriteErrors := err.(kafka.WriteErrors); isWriteErrors {
			err = perMessage[0]
		}
		report(err)
	case "consume":
		reader := kafka.NewReader(kafka.ReaderConfig{
			Brokers:          servers,
			Topic:            words[0],
			GroupID:          words[1],
			StartOffset:      kafka.FirstOffset,
			Dialer:           &kafka.Dialer{SASLMechanism: mechanism},
			JoinGroupBackoff: 10 * time.Millisecond,
			MaxWait:          100 * time.Millisecond, // Close waits for the last Fetch
		})
		// The next member does not wait for one that has left.
		defer func() { check(reader.Close()) }()
		record, err := reader.ReadMessage(ctx)
		if err == nil {
			fmt.Printf("record\t%s\n", record.Value)
		}
		report(err)
	default:
		report(administer(ctx, &kafka.Client{Addr: kafka.TCP(servers...), Transport: transport}, command, words))
	}
}

func administer(ctx context.Context, client *kafka.Client, command string, words []string) error {
	switch command {
	case "create":
		acl := kafka.ACLEntry{ResourceName: words[1], Principal: words[3], Host: words[4]}
		check(acl.ResourceType.UnmarshalText([]byte(words[0])))
		check(acl.ResourcePatternType.UnmarshalText([]byte(words[2])))
		check(acl.Operation.UnmarshalText([]byte(words[5])))
		check(acl.PermissionType.UnmarshalText([]byte(words[6])))
		created, err := client.CreateACLs(ctx, &kafka.CreateACLsRequest{ACLs: []kafka.ACLEntry{acl}})
		check(err)
		return created.Errors[0]
	case "list":
		found, err := client.DescribeACLs(ctx, &kafka.DescribeACLsRequest{Filter: kafka.ACLFilter{
			ResourceTypeFilter:        kafka.ResourceTypeAny,
			ResourcePatternTypeFilter: kafka.PatternTypeAny,
			Operation:                 kafka.ACLOperationTypeAny,
			PermissionType:            kafka.ACLPermissionTypeAny,
		}})
		check(err)
		for _, resource := range found.Resources {
			for _, acl := range resource.ACLs {
				printRule(resource.ResourceType, resource.ResourceName, resource.PatternType, acl.Principal,
					acl.Host, acl.Operation, acl.PermissionType)
			}
		}
		return found.Error
	case "delete":
		filter := kafka.DeleteACLsFilter{
			ResourceNameFilter:        words[1],
			ResourcePatternTypeFilter: kafka.PatternTypeMatch,
			Operation:                 kafka.ACLOperationTypeAny,
			PermissionType:            kafka.ACLPermissionTypeAny,
		}
		check(filter.ResourceTypeFilter.UnmarshalText([]byte(words[0])))
		deleted, err := client.DeleteACLs(ctx,
			&kafka.DeleteACLsRequest{Filters: []kafka.DeleteACLsFilter{filter}})
		check(err)
		for _, acl := range deleted.Results[0].MatchingACLs {
			check(acl.Error)
			printRule(acl.ResourceType, acl.ResourceName, acl.ResourcePatternType, acl.Principal, acl.Host,
				acl.Operation, acl.PermissionType)
		}
		return deleted.Results[0].Error
	}
	return fmt.Errorf("no such command: %s", command)
}

func printRule(words ...any) {
	fmt.Printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", words...)
}

func report(err error) {
	for name, target := range map[string]error{
		"ClusterAuthorizationFailed": kafka.ClusterAuthorizationFailed,
		"GroupAuthorizationFailed":   kafka.GroupAuthorizationFailed,
		"TopicAuthorizationFailed":   kafka.TopicAuthorizationFailed,
		"UnknownTopicOrPartition":    kafka.UnknownTopicOrPartition,
	} {
		if errors.Is(err, target) {
			fmt.Printf("error\t%s\n", name)
			return
		}
	}
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
