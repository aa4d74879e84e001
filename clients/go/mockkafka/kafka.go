// Package mockkafka starts a Kafka cluster for tests, and controls it: faults, clock, brokers, quotas,
// records and requests. The cluster is one process of mock-kafka, which any Kafka client can use.
//
//	func TestAnOrderIsStoredOnce(t *testing.T) {
//		kafka := mockkafka.Start(t)
//		kafka.DropResponse(mockkafka.When{API: "Produce", Times: 1})
//		client, _ := kgo.NewClient(kgo.SeedBrokers(kafka.Seeds()...), kgo.DefaultProduceTopic("orders"), kgo.AllowAutoTopicCreation())
//		defer client.Close()
//		client.ProduceSync(context.Background(), kgo.StringRecord("coffee"))
//		if records := kafka.Records("orders"); len(records) != 1 {
//			t.Errorf("records: %v", records)
//		}
//	}
//
// # Which cluster
//
// The first of these that is there: the running cluster of MOCK_KAFKA_BOOTSTRAP_SERVERS and
// MOCK_KAFKA_ADMIN_URL; the program of [WithCommand]; that of MOCK_KAFKA_COMMAND; mock-kafka on the PATH;
// uvx, docker or podman on the PATH, with the image mock-kafka or that of MOCK_KAFKA_IMAGE.
//
// The first [Start] takes a third of a second, the next ones a millisecond. Parallel tests have a cluster
// each. A cluster ends with the process of the tests, also when that is killed.
//
// Tests that use one running cluster of the environment wait for each other. `go test ./...` runs packages at
// the same time, in a process each; use `go test -p 1 ./...` with such a cluster.
//
// # Operations and methods
//
// The methods of [Kafka] are for tests: they fail the test where something is refused. Each operation of the
// admin port is a method of [Admin] with a context and an error, such as kafka.Admin.CreateTopic.
//
// An optional field is a pointer where its zero value means something; [Ptr] makes one:
//
//	kafka.Fail(mockkafka.ErrorNotEnoughReplicas, mockkafka.When{Topic: "orders", Partition: mockkafka.Ptr(0)})
//
// franz-go waits 5 s before it asks for metadata again, for example after a topic was created.
// kgo.MetadataMinAge(100*time.Millisecond) shortens that in tests.
package mockkafka

//go:generate go run ../internal/generate ../../openapi.json ../../methods.json types_generated.go operations_generated.go methods_generated.go

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const idleMax, lendTimeout = 8, 5 * time.Minute

// Kafka is a cluster in a test. Its methods fail the test if the cluster refuses something, so they return
// no error. Call them in the goroutine of the test. The operations of Admin return errors.
type Kafka struct {
	Admin   *Admin // every operation of the admin port
	Cluster *Cluster

	t       testing.TB
	timeout time.Duration
}

// pool has the clusters that no test uses, the one that was used last at the start.
var pool struct {
	sync.Mutex
	idle []*Cluster
}

// Start returns a running, empty cluster that no other test uses until this one ends.
//
// Clusters are reused: the next test with the same options gets this one, after a reset, which takes a
// millisecond. Parallel tests have a cluster each. If the environment names a running cluster, all tests
// share it, one after another.
func Start(t testing.TB, opts ...Option) *Kafka {
	t.Helper()
	c, err := take(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.giveBack)
	return c.For(t)
}

func take(opts []Option) (*Cluster, error) {
	pool.Lock()
	for i, c := range pool.idle {
		isSame := reflect.DeepEqual(c.options, optionsOf(opts))
		if isSame && c.running.Err() == nil && os.Getenv("MOCK_KAFKA_ADMIN_URL") == "" {
			pool.idle = slices.Delete(pool.idle, i, i+1)
			pool.Unlock()
			return c, nil
		}
	}
	pool.Unlock()
	return New(context.Background(), opts...)
}

func (c *Cluster) giveBack() {
	if c.lending == &ofEnvironment {
		return
	}
	pool.Lock()
	defer pool.Unlock()
	if pool.idle = slices.Insert(pool.idle, 0, c); len(pool.idle) > idleMax {
		go pool.idle[idleMax].Close()
		pool.idle = pool.idle[:idleMax]
	}
}

// For resets the cluster and lends it to a test, until that ends. Other tests wait for it.
//
// A test that fails logs the last requests, and the log of the cluster.
func (c *Cluster) For(t testing.TB) *Kafka {
	t.Helper()
	holder, _ := c.lending.holder.Load().(string)
	if holder != "" && strings.HasPrefix(t.Name()+"/", holder+"/") {
		t.Fatalf("mock-kafka: %s has the cluster already, and there is one only", holder)
	}
	select {
	case c.lending.place <- struct{}{}:
	case <-time.After(lendTimeout):
		t.Fatalf("mock-kafka: %v has the cluster since %v; call t.Parallel() before it", c.lending.holder.Load(), lendTimeout)
	}
	c.lending.holder.Store(t.Name())
	k := &Kafka{Admin: c.Admin, Cluster: c, t: t, timeout: 10 * time.Second}
	t.Cleanup(func() {
		defer func() { c.lending.holder.Store(""); <-c.lending.place }()
		k.end()
	})
	k.Reset()
	return k
}

// end checks the audit, and describes a failure.
func (k *Kafka) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if k.Cluster.options.audit && k.Cluster.running.Err() == nil {
		report, err := k.Admin.GetAudit(ctx)
		k.check(err)
		for _, found := range report.Findings {
			if !slices.Contains([]string{"lost_by_election", "lost_by_truncation", "changed_by_rule"}, found.Kind) {
				k.t.Errorf("mock-kafka: audit: %s: %s-%d: %s", found.Kind, found.Topic, found.Partition, found.Detail)
			}
		}
	}
	if !k.t.Failed() {
		return
	}
	if log := k.Cluster.Log(); log != "" {
		k.t.Logf("the log of mock-kafka:\n%s", log)
	}
	var requests []Request
	query := RequestFilter{Limit: 20, Bodies: Ptr(false)}
	k.check(k.Admin.Do(ctx, "GET", "/v1/requests", query, nil, &requests))
	lines := ""
	for _, request := range requests {
		lines += "\n  " + request.String()
	}
	k.t.Logf("the last requests of mock-kafka:%s", cmp.Or(lines, "\n  none"))
}

// Ptr returns a pointer to a value, for fields such as When.Partition whose 0 is a value.
func Ptr[V any](value V) *V { return &value }

func (k *Kafka) check(err error) {
	if k.t.Helper(); err != nil {
		k.t.Fatal(err)
	}
}

// BootstrapServers returns HOST:PORT of every broker, with commas between.
func (k *Kafka) BootstrapServers() string { return k.Cluster.BootstrapServers }

// Seeds returns HOST:PORT of every broker, for kgo.SeedBrokers and the like.
func (k *Kafka) Seeds() []string { return k.Cluster.Seeds() }

// Within returns the same cluster with another timeout of methods that wait; it is 10 s of real time otherwise.
func (k Kafka) Within(timeout time.Duration) *Kafka { k.timeout = timeout; return &k }

// Reset restores the state after the start, and closes all connections. Each test begins with it.
func (k *Kafka) Reset() {
	k.t.Helper()
	if !k.Cluster.options.newPorts {
		k.check(k.Admin.Reset(context.Background(), ResetBody{}))
		return
	}
	k.check(k.Admin.Reset(context.Background(), ResetBody{Ports: "new"}))
	brokers, err := k.Admin.ListBrokers(context.Background())
	k.check(err)
	var addresses []string
	for _, broker := range brokers {
		addresses = append(addresses, fmt.Sprintf("%s:%d", broker.Host, broker.Port))
	}
	k.Cluster.BootstrapServers = strings.Join(addresses, ",")
}

// Produce stores a record for each value, as [Kafka.ProduceRecords] does.
func (k *Kafka) Produce(topic string, values ...string) []Record {
	k.t.Helper()
	records := make([]Record, len(values))
	for i, value := range values {
		records[i].Value = []byte(value)
	}
	return k.ProduceRecords(topic, records...)
}

// Values returns the values of records as text.
func Values(records []Record) []string {
	found := make([]string, len(records))
	for i, record := range records {
		found[i] = string(record.Value)
	}
	return found
}

// String returns one readable line.
func (r Request) String() string {
	client, action := r.ClientID, fmt.Sprintf("%s v%d", r.API, r.Version)
	if r.Kind != "request" {
		client, action = r.ClientHost, r.Kind
	}
	fault := strings.TrimSuffix("["+r.Fault+"]", "[]")
	words := slices.Concat([]string{fmt.Sprintf("#%d broker %d", r.Number, r.Broker), client, action}, r.Topics, r.Groups,
		r.TransactionalIDs, []string{"->", r.Outcome, r.CloseReason + r.Reason}, r.Errors, []string{fault})
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}
