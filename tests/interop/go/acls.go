package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// `create TYPE NAME PATTERN PRINCIPAL HOST OPERATION PERMISSION`, `list`, `delete TYPE NAME`,
// `produce TOPIC VALUE` or `consume TOPIC GROUP` as a user, with SASL/PLAIN. Prints rules, the value of
// the first record, or `error` and the name of the library's error.
func acls(command string, servers []string, user, password string, words []string) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	options := []kgo.Opt{kgo.SeedBrokers(servers...), kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism())}
	if command == "consume" {
		options = append(options, kgo.ConsumeTopics(words[0]), kgo.ConsumerGroup(words[1]),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	}
	client, err := kgo.NewClient(options...)
	check(err)
	defer client.Close()
	switch command {
	case "produce":
		report(client.ProduceSync(ctx, &kgo.Record{Topic: words[0], Value: []byte(words[1])}).FirstErr())
	case "consume":
		fetches := client.PollRecords(ctx, 1)
		for _, record := range fetches.Records() {
			fmt.Printf("record\t%s\n", record.Value)
		}
		report(fetches.Err())
	default:
		report(administer(ctx, kadm.NewClient(client), command, words))
	}
}

func administer(ctx context.Context, admin *kadm.Client, command string, words []string) error {
	switch command {
	case "create":
		results, err := admin.CreateACLs(ctx, rule(words))
		check(err)
		return results[0].Err
	case "list":
		every := kadm.NewACLs().AnyResource().ResourcePatternType(kadm.ACLPatternAny).
			Operations(kadm.OpAny).Allow().AllowHosts().Deny().DenyHosts()
		results, err := admin.DescribeACLs(ctx, every)
		check(err)
		for _, result := range results {
			if result.Err != nil {
				return result.Err
			}
			for _, acl := range result.Described {
				printRule(acl.Type, acl.Name, acl.Pattern, acl.Principal, acl.Host, acl.Operation, acl.Permission)
			}
		}
		return nil
	case "delete":
		matching := resource(words[0], words[1]).ResourcePatternType(kadm.ACLPatternMatch).
			Operations(kadm.OpAny).Allow().AllowHosts().Deny().DenyHosts()
		results, err := admin.DeleteACLs(ctx, matching)
		check(err)
		for _, result := range results {
			if result.Err != nil {
				return result.Err
			}
			for _, acl := range result.Deleted {
				check(acl.Err)
				printRule(acl.Type, acl.Name, acl.Pattern, acl.Principal, acl.Host, acl.Operation, acl.Permission)
			}
		}
		return nil
	}
	return fmt.Errorf("no such command: %s", command)
}

func rule(words []string) *kadm.ACLBuilder {
	pattern, err := kmsg.ParseACLResourcePatternType(words[2])
	check(err)
	operation, err := kmsg.ParseACLOperation(words[5])
	check(err)
	permission, err := kmsg.ParseACLPermissionType(words[6])
	check(err)
	acl := resource(words[0], words[1]).ResourcePatternType(pattern).Operations(operation)
	if permission == kmsg.ACLPermissionTypeDeny {
		return acl.Deny(words[3]).DenyHosts(words[4])
	}
	return acl.Allow(words[3]).AllowHosts(words[4])
}

func resource(kind, name string) *kadm.ACLBuilder {
	parsed, err := kmsg.ParseACLResourceType(kind)
	check(err)
	switch parsed {
	case kmsg.ACLResourceTypeTopic:
		return kadm.NewACLs().Topics(name)
	case kmsg.ACLResourceTypeGroup:
		return kadm.NewACLs().Groups(name)
	case kmsg.ACLResourceTypeTransactionalId:
		return kadm.NewACLs().TransactionalIDs(name)
	case kmsg.ACLResourceTypeCluster:
		return kadm.NewACLs().Clusters()
	}
	check(fmt.Errorf("no builder for %s", kind))
	return nil
}

func printRule(kind kmsg.ACLResourceType, name string, pattern kadm.ACLPattern, principal, host string,
	operation kadm.ACLOperation, permission kmsg.ACLPermissionType) {
	fmt.Printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", kind, name, pattern, principal, host, operation, permission)
}

func report(err error) {
	for name, target := range map[string]error{
		"ClusterAuthorizationFailed": kerr.ClusterAuthorizationFailed,
		"GroupAuthorizationFailed":   kerr.GroupAuthorizationFailed,
		"TopicAuthorizationFailed":   kerr.TopicAuthorizationFailed,
	} {
		if errors.Is(err, target) {
			fmt.Printf("error\t%s\n", name)
			return
		}
	}
	check(err)
}
