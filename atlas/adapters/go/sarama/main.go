// The adapter of sarama.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/IBM/sarama"

	"mockkafka.test/adapter"
)

type (
	command = adapter.Command
	fields  = adapter.Fields
)

var (
	producers = map[string]*producer{}
	consumers = map[string]*consumer{}
	admins    = map[string]sarama.ClusterAdmin{}
	client    = adapter.Client{
		Name:     "sarama",
		Module:   "github.com/IBM/sarama",
		Supports: []string{"producer", "idempotence", "transactions", "consumer", "group", "admin"},
		Describe: describe,
		Begin:    begin,
		Has: func(id string) bool {
			return producers[id] != nil || consumers[id] != nil || admins[id] != nil
		},
	}
	names = map[error]string{
		sarama.ErrAddPartitionsToTxn:          "ErrAddPartitionsToTxn",
		sarama.ErrBrokerNotFound:              "ErrBrokerNotFound",
		sarama.ErrClosedClient:                "ErrClosedClient",
		sarama.ErrClosedConsumerGroup:         "ErrClosedConsumerGroup",
		sarama.ErrConsumerOffsetNotAdvanced:   "ErrConsumerOffsetNotAdvanced",
		sarama.ErrConsumerRetriesExhausted:    "ErrConsumerRetriesExhausted",
		sarama.ErrControllerNotAvailable:      "ErrControllerNotAvailable",
		sarama.ErrDeleteRecords:               "ErrDeleteRecords",
		sarama.ErrIncompleteResponse:          "ErrIncompleteResponse",
		sarama.ErrInsufficientData:            "ErrInsufficientData",
		sarama.ErrInvalidPartition:            "ErrInvalidPartition",
		sarama.ErrMessageTooLarge:             "ErrMessageTooLarge",
		sarama.ErrNonTransactedProducer:       "ErrNonTransactedProducer",
		sarama.ErrNotConnected:                "ErrNotConnected",
		sarama.ErrOutOfBrokers:                "ErrOutOfBrokers",
		sarama.ErrProducerRetryBufferOverflow: "ErrProducerRetryBufferOverflow",
		sarama.ErrRebalanceTimedOut:           "ErrRebalanceTimedOut",
		sarama.ErrSessionHeartbeatFailed:      "ErrSessionHeartbeatFailed",
		sarama.ErrShuttingDown:                "ErrShuttingDown",
		sarama.ErrTransactionNotReady:         "ErrTransactionNotReady",
		sarama.ErrTransitionNotAllowed:        "ErrTransitionNotAllowed",
		sarama.ErrTxnOffsetCommit:             "ErrTxnOffsetCommit",
		sarama.ErrTxnUnableToParseResponse:    "ErrTxnUnableToParseResponse",
		sarama.ErrUnknownMessage:              "ErrUnknownMessage",
	}
)

func main() {
	sarama.Logger = log.New(os.Stderr, "", log.Lmicroseconds)
	client.Commands = map[string]func(context.Context, *command) (fields, error){
		"producer":           openProducer,
		"send":               send,
		"flush":              flush,
		"begin_transaction":  transaction(func(p *producer, _ *command) error { return p.BeginTxn() }),
		"commit_transaction": transaction(func(p *producer, _ *command) error { return p.CommitTxn() }),
		"abort_transaction":  transaction(func(p *producer, _ *command) error { return p.AbortTxn() }),
		"send_offsets":       transaction(sendOffsets),
		"consumer":           openConsumer,
		"poll":               poll,
		"commit":             commit,
		"committed":          committed,
		"close":              closeClient,
	}
	addAdminCommands(client.Commands)
	client.Run()
}

// What a transactional producer has to do after an error, sarama says by the status of its transaction.
type transactionError struct {
	error
	status sarama.ProducerTxnStatusFlag
}

func (err transactionError) Unwrap() error { return err.error }

// sarama has a number for an answer, and no test of whether it may be asked again.
func describe(err error) (string, string) {
	class := "unknown"
	var failed transactionError
	if errors.As(err, &failed) {
		switch {
		case failed.status&sarama.ProducerTxnFlagFatalError != 0:
			class = "fatal"
		case failed.status&sarama.ProducerTxnFlagAbortableError != 0:
			class = "abortable"
		}
	}
	var answer sarama.KError
	if errors.As(err, &answer) {
		return fmt.Sprintf("KError(%d)", answer), class
	}
	name := adapter.Name(err, names)
	var timeout interface{ Timeout() bool }
	if class == "unknown" && errors.As(err, &timeout) && timeout.Timeout() {
		class = "timeout"
	}
	return name, class
}

func begin(ctx context.Context) {
	closed := sync.WaitGroup{}
	for _, left := range producers {
		closed.Go(left.AsyncClose)
	}
	for _, left := range consumers {
		closed.Go(func() { left.close() })
	}
	for _, left := range admins {
		closed.Go(func() { left.Close() })
	}
	clear(producers)
	clear(consumers)
	clear(admins)
	closed.Wait()
}

func closeClient(ctx context.Context, c *command) (fields, error) {
	do := func() error { return nil }
	if left := producers[c.ID]; left != nil {
		do = left.Close
	} else if left := consumers[c.ID]; left != nil {
		do = left.close
	} else if left := admins[c.ID]; left != nil {
		do = left.Close
	}
	delete(producers, c.ID)
	delete(consumers, c.ID)
	delete(admins, c.ID)
	return nil, adapter.Within(ctx, do)
}

func servers(c *command) []string { return strings.Split(c.Bootstrap, ",") }
