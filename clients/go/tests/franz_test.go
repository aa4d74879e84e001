// Package tests has the tests of the package mockkafka with a client. They are a separate module, so that
// users of mockkafka get no client from it.
package tests

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mock-kafka/mock-kafka/clients/go/mockkafka"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// client returns a client of the cluster that waits little before it asks for metadata again.
func client(t *testing.T, kafka *mockkafka.Kafka, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts = append(opts, kgo.SeedBrokers(kafka.Seeds()...), kgo.MetadataMinAge(100*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AllowAutoTopicCreation())
	found, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(found.Close)
	return found
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func send(t *testing.T, c *kgo.Client, topic string, values ...string) {
	t.Helper()
	for _, value := range values {
		record := &kgo.Record{Topic: topic, Value: []byte(value)}
		if err := c.ProduceSync(deadline(t), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAGroupReadsWhatAProducerSent(t *testing.T) {
	t.Parallel()
	kafka := mockkafka.Start(t, mockkafka.WithAudit(), mockkafka.WithBrokers(3))
	kafka.CreateTopic("orders", 2)
	c := client(t, kafka, kgo.ConsumeTopics("orders"), kgo.ConsumerGroup("billing"), kgo.DisableAutoCommit())
	send(t, c, "orders", "coffee", "tea", "milk")
	if group := kafka.WaitForStable("billing", 1); group.Members[0].ClientID != "kgo" {
		t.Errorf("group: %+v", group)
	}
	var read []string
	for len(read) < 3 {
		fetches := c.PollFetches(deadline(t))
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		for _, record := range fetches.Records() {
			read = append(read, string(record.Value))
		}
	}
	slices.Sort(read)
	if !slices.Equal(read, []string{"coffee", "milk", "tea"}) {
		t.Errorf("read %q", read)
	}
	if lag := sum(kafka.Lag("billing")); lag != 3 {
		t.Errorf("lag %d before the commit", lag)
	}
	if err := c.CommitUncommittedOffsets(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if lag, committed := sum(kafka.Lag("billing")), sum(kafka.Committed("billing")); lag != 0 || committed != 3 {
		t.Errorf("lag %d, committed %d", lag, committed)
	}
	if groups := kafka.Groups(); len(groups) != 1 || groups[0].GroupID != "billing" {
		t.Errorf("groups: %+v", groups)
	}
}

func sum(offsets map[mockkafka.TopicPartition]int64) (total int64) {
	for _, offset := range offsets {
		total += offset
	}
	return total
}

func TestARecordIsStoredOnceThoughItsAcknowledgementIsLost(t *testing.T) {
	t.Parallel()
	kafka := mockkafka.Start(t, mockkafka.WithAudit())
	lost := kafka.DropResponse(mockkafka.When{API: mockkafka.APIProduce, Times: 1})
	refused := kafka.Fail(mockkafka.ErrorNotEnoughReplicas, mockkafka.When{API: mockkafka.APIProduce, Times: 1})
	send(t, client(t, kafka), "orders", "coffee")
	if values := mockkafka.Values(kafka.Records("orders")); !slices.Equal(values, []string{"coffee"}) {
		t.Errorf("stored %q", values)
	}
	if lost.Count() != 1 || !lost.IsUsedUp() || refused.Count() != 1 {
		t.Errorf("lost %d, refused %d", lost.Count(), refused.Count())
	}
	requests := kafka.Requests(mockkafka.RequestFilter{API: mockkafka.APIProduce, Topic: "orders"})
	if len(requests) != 3 || requests[0].Fault == "" || requests[0].ClientID != "kgo" || requests[1].Errors[0] != "NOT_ENOUGH_REPLICAS" {
		t.Errorf("requests: %v", requests)
	}
}

func TestADelayedResponseWaitsForTheClock(t *testing.T) {
	t.Parallel()
	kafka := mockkafka.Start(t)
	kafka.CreateTopic("orders", 1)
	c := client(t, kafka)
	kafka.SetClock("standing", 0)
	kafka.Delay(time.Hour, mockkafka.When{API: mockkafka.APIProduce, Times: 1})
	result := make(chan error)
	c.Produce(deadline(t), &kgo.Record{Topic: "orders", Value: []byte("coffee")},
		func(_ *kgo.Record, err error) { result <- err })
	if request := kafka.WaitForRequest(mockkafka.RequestFilter{API: mockkafka.APIProduce}); request.Outcome != "waiting" {
		t.Errorf("request: %v", request)
	}
	kafka.Advance(time.Hour)
	if err := <-result; err != nil {
		t.Error(err)
	}
	kafka.WaitForRequest(mockkafka.RequestFilter{API: mockkafka.APIProduce, Outcome: "responded"})
}

func TestTheAuditFindsWhatIsLost(t *testing.T) {
	t.Parallel()
	kafka := mockkafka.Start(t, mockkafka.WithAudit())
	kafka.CreateTopic("orders", 1)
	send(t, client(t, kafka), "orders", "coffee")
	if audit := kafka.Audit(); audit.Covered == 0 || audit.FindingCount != 0 {
		t.Errorf("audit: %+v", audit)
	}
	if _, err := kafka.Admin.TruncatePartition(deadline(t), "orders", 0, mockkafka.TruncateBody{Offset: 0}); err != nil {
		t.Fatal(err)
	}
	if audit := kafka.Audit(); audit.FindingCount != 1 || audit.Findings[0].Kind != "lost_by_truncation" {
		t.Errorf("audit: %+v", audit)
	}
}

func TestAnAbortedTransactionIsSeen(t *testing.T) {
	t.Parallel()
	kafka := mockkafka.Start(t)
	kafka.CreateTopic("orders", 1)
	c := client(t, kafka, kgo.TransactionalID("shop"))
	for _, isCommitted := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
		if err := c.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		send(t, c, "orders", "coffee")
		if state := kafka.Transactions()[0].State; state != "Ongoing" {
			t.Errorf("state %q", state)
		}
		if err := c.EndTransaction(deadline(t), isCommitted); err != nil {
			t.Fatal(err)
		}
	}
	var outcomes []string
	for _, record := range kafka.Records("orders") {
		outcomes = append(outcomes, record.Transaction)
	}
	if !slices.Equal(outcomes, []string{"aborted", "committed"}) {
		t.Errorf("outcomes %q", outcomes)
	}
}

func TestARequestThatIsRefusedForEverFails(t *testing.T) {
	t.Parallel()
	kafka := mockkafka.Start(t)
	kafka.CreateTopic("orders", 1)
	kafka.Fail(mockkafka.ErrorTopicAuthorizationFailed, mockkafka.When{API: mockkafka.APIProduce})
	err := client(t, kafka).ProduceSync(deadline(t), &kgo.Record{Topic: "orders"}).FirstErr()
	if !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("error: %v", err)
	}
}

func TestAHeldRequestGoesOnWhenItIsReleased(t *testing.T) {
	t.Parallel()
	kafka := mockkafka.Start(t)
	c := client(t, kafka)
	send(t, c, "orders", "coffee")
	held := kafka.Hold(mockkafka.When{API: mockkafka.APIProduce, Hold: "before_response", Where: map[string]any{
		"topic_data[].partition_data[].records.batches[].compression":  []string{"none", "snappy"},
		"topic_data[].partition_data[].records.batches[].record_count": map[string]any{"min": 1},
	}})
	result := make(chan error, 1)
	c.Produce(deadline(t), &kgo.Record{Topic: "orders", Value: []byte("tea")}, func(_ *kgo.Record, err error) { result <- err })
	held.Wait(1)
	kafka.Advance(20 * time.Second)
	if count, stored := held.HeldCount(), len(kafka.Records("orders")); count != 1 || stored != 2 || len(result) != 0 {
		t.Errorf("%d requests are held, %d records are stored, %d results", count, stored, len(result))
	}
	held.ReleaseOldest(1)
	if err := <-result; err != nil {
		t.Error(err)
	}
	refused := kafka.Fail(mockkafka.ErrorNotLeaderOrFollower, mockkafka.When{API: mockkafka.APIProduce, Times: 1})
	held.Release()
	send(t, c, "orders", "juice")
	refused.Wait(1)
	if refused.MatchCount() != 1 || refused.IsArmed() || !held.IsUsedUp() {
		t.Errorf("rules: %+v", kafka.Faults())
	}
}

func TestAStrictClusterRefusesWhatWasNotRecorded(t *testing.T) {
	t.Parallel()
	world, faults := filepath.Join(t.TempDir(), "world.json"), filepath.Join(t.TempDir(), "faults.json")
	for path, text := range map[string]string{
		world: `{"topics": [{"name": "orders", "partitions": [{}]}],
			"requests": [{"api": "Fetch", "version": 12, "user": "User:ANONYMOUS", "topics": ["orders"]}]}`,
		faults: `[{"api": "Heartbeat", "delay_ms": 1}]`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kafka := mockkafka.Start(t, mockkafka.WithSnapshot(world), mockkafka.WithStrict(), mockkafka.WithFaults(faults), mockkafka.WithACLs())
	client(t, kafka, kgo.RequestRetries(0)).Ping(deadline(t))
	request := kafka.WaitForRequest(mockkafka.RequestFilter{API: mockkafka.APIMetadata})
	if !strings.Contains(request.Fault, "not recorded: Metadata") || !strings.Contains(request.Fault, "The nearest one is Fetch v12") {
		t.Errorf("fault: %s", request.Fault)
	}
	if topics, rules := kafka.Topics(), kafka.Faults(); len(topics) != 1 || topics[0].Name != "orders" || len(rules) != 1 {
		t.Errorf("topics %+v, rules %+v", topics, rules)
	}
	if _, err := kafka.Admin.ListACLs(deadline(t), mockkafka.ListACLsQuery{}); err != nil {
		t.Error(err)
	}
}
