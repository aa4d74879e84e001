// The adapter of kafka-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"mockkafka.test/adapter"
)

type (
	command = adapter.Command
	fields  = adapter.Fields
)

var (
	producers = map[string]*producer{}
	consumers = map[string]*consumer{}
	admins    = map[string]*kafka.Client{}
	logger    = log.New(os.Stderr, "", log.Lmicroseconds)
	client    = adapter.Client{
		Name:     "kafka-go",
		Module:   "github.com/segmentio/kafka-go",
		Supports: []string{"producer", "consumer", "group", "admin"},
		Describe: describe,
		Begin:    begin,
		Has: func(id string) bool {
			return producers[id] != nil || consumers[id] != nil || admins[id] != nil
		},
	}
)

func main() {
	client.Commands = map[string]func(context.Context, *command) (fields, error){
		"producer":  openProducer,
		"send":      send,
		"flush":     flush,
		"consumer":  openConsumer,
		"poll":      poll,
		"commit":    commit,
		"position":  position,
		"committed": committed,
		"seek":      seek,
		"close":     closeClient,
	}
	addAdminCommands(client.Commands)
	client.Run()
}

// Error.Title and Error.Temporary are kafka-go's own.
func describe(err error) (string, string) {
	var several kafka.WriteErrors
	if errors.As(err, &several) {
		for _, one := range several {
			if one != nil {
				err = one
			}
		}
	}
	var answer kafka.Error
	if errors.As(err, &answer) {
		name := answer.Title()
		if name == "" {
			name = fmt.Sprintf("Error(%d)", answer)
		}
		if answer.Temporary() {
			return name, "retriable"
		}
		return name, "fatal"
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return adapter.Name(err, nil), "timeout"
	}
	return adapter.Name(err, nil), "unknown"
}

func begin(context.Context) {
	closed := sync.WaitGroup{}
	for _, left := range producers {
		closed.Go(left.close)
	}
	for _, left := range consumers {
		closed.Go(func() { left.close() })
	}
	clear(producers)
	clear(consumers)
	clear(admins)
	closed.Wait()
}

func closeClient(ctx context.Context, c *command) (fields, error) {
	do := func() error { return nil }
	if left := producers[c.ID]; left != nil {
		do = func() error { left.close(); return nil }
	} else if left := consumers[c.ID]; left != nil {
		do = left.close
	} else if left := admins[c.ID]; left != nil {
		left.Transport.(*kafka.Transport).CloseIdleConnections()
	}
	delete(producers, c.ID)
	delete(consumers, c.ID)
	delete(admins, c.ID)
	return nil, adapter.Within(ctx, do)
}

func servers(c *command) []string { return strings.Split(c.Bootstrap, ",") }

func mechanism(settings adapter.Settings) (sasl.Mechanism, error) {
	user := settings.Security()
	if user == nil {
		return nil, nil
	}
	switch user.Mechanism {
	case "PLAIN":
		return plain.Mechanism{Username: user.Username, Password: user.Password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, user.Username, user.Password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, user.Username, user.Password)
	}
	return nil, adapter.ErrUnsupported
}

func newTransport(settings adapter.Settings) (*kafka.Transport, error) {
	user, err := mechanism(settings)
	transport := &kafka.Transport{SASL: user}
	setDuration(settings, "metadata_max_age_ms", &transport.MetadataTTL)
	setDuration(settings, "request_timeout_ms", &transport.DialTimeout)
	return transport, err
}

func setDuration(settings adapter.Settings, name string, targets ...*time.Duration) {
	if value, isThere := settings.Duration(name); isThere {
		for _, target := range targets {
			*target = value
		}
	}
}
