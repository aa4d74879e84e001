// The adapter of franz-go.
package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"mockkafka.test/adapter"
)

type (
	command = adapter.Command
	fields  = adapter.Fields
)

type place struct {
	topic     string
	partition int32
	offset    int64
}

// A refusal is the first error of acknowledgements, of which franz-go speaks in a callback alone.
type refusal struct {
	sync.Mutex
	err error
}

func (r *refusal) keep(_ *kgo.Client, results kgo.ShareAckResults) {
	r.Lock()
	defer r.Unlock()
	if r.err == nil {
		r.err = results.Error()
	}
}

func (r *refusal) take() error {
	r.Lock()
	defer r.Unlock()
	err := r.err
	r.err = nil
	return err
}

var (
	clients = map[string]*kgo.Client{}
	cancels = map[string]context.CancelFunc{}
	// Whether the experiment has a transactional client: its records fail with the transaction.
	isTransactional atomic.Bool
	groups          = map[string]string{}     // of consumers that are members of a group, not of a share group
	polled          = map[place]*kgo.Record{} // what a share group may acknowledge
	refused         = &refusal{}
	franz           = adapter.Client{
		Name:     "franz-go",
		Module:   "github.com/twmb/franz-go",
		Supports: []string{"producer", "idempotence", "transactions", "consumer", "group", "group_protocol_consumer", "admin", "share", "delegation_tokens"},
		Describe: describe,
		Begin:    begin,
		Has:      func(id string) bool { return clients[id] != nil },
	}
	names = map[error]string{
		kgo.ErrRecordTimeout: "ErrRecordTimeout",
		kgo.ErrRecordRetries: "ErrRecordRetries",
		kgo.ErrMaxBuffered:   "ErrMaxBuffered",
		kgo.ErrAborting:      "ErrAborting",
		kgo.ErrClientClosed:  "ErrClientClosed",
	}
)

func main() {
	franz.Commands = map[string]func(context.Context, *command) (fields, error){
		"producer": openProducer,
		"send":     send,
		"flush":    func(ctx context.Context, c *command) (fields, error) { return nil, clients[c.Producer].Flush(ctx) },
		"begin_transaction": func(_ context.Context, c *command) (fields, error) {
			return nil, clients[c.Producer].BeginTransaction()
		},
		"commit_transaction": commitTransaction,
		"abort_transaction":  abortTransaction,
		"consumer":           openConsumer,
		"share_consumer":     openConsumer,
		"poll":               poll,
		"commit":             commit,
		"position":           position,
		"committed":          committed,
		"seek":               seek,
		"acknowledge":        acknowledge,
		"close":              closeClient,
	}
	addAdminCommands(franz.Commands)
	franz.Run()
}

// The retriable test is franz-go's own, of answers (kerr) and of connections (kgo).
func describe(err error) (string, string) {
	if name := adapter.Name(err, names); strings.HasPrefix(name, "Err") {
		if name == "ErrRecordTimeout" {
			return name, "timeout"
		}
		return name, "unknown"
	}
	var answer *kerr.Error
	switch {
	case errors.Is(err, kerr.TransactionAbortable), errors.Is(err, kerr.OperationNotAttempted):
		errors.As(err, &answer)
		return answer.Message, "abortable"
	case errors.As(err, &answer) && answer.Retriable:
		return answer.Message, "retriable"
	case answer != nil && isTransactional.Load() && !isFatal(err):
		return answer.Message, "abortable"
	case answer != nil:
		return answer.Message, "fatal"
	case kgo.IsRetryableBrokerErr(err):
		return adapter.Name(err, names), "retriable"
	}
	return adapter.Name(err, names), "unknown"
}

// After these errors EndTransaction's documentation lets nothing continue with the client.
func isFatal(err error) bool {
	for _, fatal := range []error{
		kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping,
		kerr.TransactionalIDAuthorizationFailed, kerr.ClusterAuthorizationFailed,
	} {
		if errors.Is(err, fatal) {
			return true
		}
	}
	return false
}

func begin(context.Context) {
	for id, client := range clients {
		cancels[id]()
		go client.CloseAllowingRebalance()
	}
	isTransactional.Store(false)
	clear(clients)
	clear(cancels)
	clear(groups)
	clear(polled)
	_ = refused.take()
}

func open(c *command, opts []kgo.Opt) (*kgo.Client, error) {
	ctx, cancel := context.WithCancel(context.Background())
	opts = append(opts,
		kgo.WithContext(ctx),
		kgo.SeedBrokers(strings.Split(c.Bootstrap, ",")...),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)))
	client, err := kgo.NewClient(append(opts, connectionOpts(c.Settings)...)...)
	if err != nil {
		cancel()
		return nil, err
	}
	clients[c.ID], cancels[c.ID] = client, cancel
	return client, nil
}

func openProducer(ctx context.Context, c *command) (fields, error) {
	if c.Settings.Text("transactional_id") != "" {
		isTransactional.Store(true)
	}
	client, err := open(c, producerOpts(c.Settings))
	if err == nil && c.Settings.Text("transactional_id") != "" {
		_, _, err = client.ProducerID(ctx)
	}
	return nil, err
}

func send(_ context.Context, c *command) (fields, error) {
	record := &kgo.Record{
		Topic: c.Topic, Partition: c.Partition, Key: adapter.Bytes(c.Key), Value: adapter.Bytes(c.Value)}
	clients[c.Producer].Produce(context.Background(), record, func(record *kgo.Record, err error) {
		franz.Delivered(c.N, record.Offset, err)
	})
	return nil, nil
}

func commitTransaction(ctx context.Context, c *command) (fields, error) {
	client := clients[c.Producer]
	if err := client.Flush(ctx); err != nil {
		return nil, err
	}
	return nil, client.EndTransaction(ctx, kgo.TryCommit)
}

func abortTransaction(ctx context.Context, c *command) (fields, error) {
	client := clients[c.Producer]
	if err := client.AbortBufferedRecords(ctx); err != nil {
		return nil, err
	}
	return nil, client.EndTransaction(ctx, kgo.TryAbort)
}

func openConsumer(_ context.Context, c *command) (fields, error) {
	_, err := open(c, consumerOpts(c))
	if c.Command == "consumer" {
		groups[c.ID] = c.Settings.Text("group")
	}
	return nil, err
}

// Errors of partitions fail the command unless there are records, which come first.
func poll(ctx context.Context, c *command) (fields, error) {
	fetches := clients[c.Consumer].PollRecords(ctx, c.RecordsMax)
	records, errs := []fields{}, []fields{}
	fetches.EachRecord(func(record *kgo.Record) {
		polled[place{record.Topic, record.Partition, record.Offset}] = record
		records = append(records, fields{"topic": record.Topic, "partition": record.Partition, "offset": record.Offset,
			"key": adapter.Text(record.Key), "value": adapter.Text(record.Value)})
	})
	var first error
	fetches.EachError(func(_ string, _ int32, err error) {
		if !errors.Is(err, context.DeadlineExceeded) {
			first = err
			errs = append(errs, franz.ErrorFields(err))
		}
	})
	if len(records) == 0 && first != nil {
		return nil, first
	}
	if len(errs) > 0 {
		return fields{"records": records, "errors": errs}, nil
	}
	return fields{"records": records}, nil
}

func commit(ctx context.Context, c *command) (fields, error) {
	client := clients[c.Consumer]
	if _, isConsumer := groups[c.Consumer]; !isConsumer {
		if err := client.FlushAcks(ctx); err != nil {
			return nil, err
		}
		return nil, refused.take()
	}
	return nil, client.CommitUncommittedOffsets(ctx)
}

func position(_ context.Context, c *command) (fields, error) {
	head, isKnown := clients[c.Consumer].UncommittedOffsets()[c.Topic][c.Partition]
	if !isKnown {
		head, isKnown = clients[c.Consumer].CommittedOffsets()[c.Topic][c.Partition]
	}
	if groups[c.Consumer] == "" {
		return nil, adapter.ErrUnsupported // franz-go keeps the position of members alone
	}
	if !isKnown {
		return fields{"offset": nil}, nil
	}
	return fields{"offset": head.Offset}, nil
}

func seek(_ context.Context, c *command) (fields, error) {
	offset := kgo.EpochOffset{Epoch: -1, Offset: c.Offset}
	clients[c.Consumer].SetOffsets(map[string]map[int32]kgo.EpochOffset{c.Topic: {c.Partition: offset}})
	return nil, nil
}

func acknowledge(_ context.Context, c *command) (fields, error) {
	record := polled[place{c.Topic, c.Partition, c.Offset}]
	if record == nil {
		return nil, errors.New("no such record was polled")
	}
	types := map[string]kgo.AckStatus{"accept": kgo.AckAccept, "release": kgo.AckRelease, "reject": kgo.AckReject}
	record.Ack(types[c.Type])
	return nil, nil
}

func closeClient(ctx context.Context, c *command) (fields, error) {
	client, cancel := clients[c.ID], cancels[c.ID]
	delete(clients, c.ID)
	delete(cancels, c.ID)
	return nil, adapter.Within(ctx, func() error { client.CloseAllowingRebalance(); cancel(); return nil })
}
