package mockkafka_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mock-kafka/mock-kafka/clients/go/mockkafka"
)

func TestRecordsKeepTheirBytes(t *testing.T) {
	kafka := mockkafka.Start(t)
	kafka.CreateTopic("orders", 2)
	timestamp := time.UnixMilli(kafka.Now().UnixMilli())
	stored := kafka.ProduceTo("orders", 1,
		mockkafka.Record{Key: []byte{0xff, 0}, Value: []byte{}, Timestamp: timestamp},
		mockkafka.Record{Headers: []mockkafka.Header{{Key: "a", Value: []byte("b")}, {Key: "null"}}},
	)
	found := kafka.Records("orders")
	if !reflect.DeepEqual(found, stored) || found[0].Partition != 1 || found[1].Offset != 1 || found[1].Value != nil {
		t.Errorf("stored %+v, found %+v", stored, found)
	}
	kafka.ProduceRecords("orders", mockkafka.Record{Key: []byte("k")}, mockkafka.Record{Key: []byte("k")})
	if found := kafka.Records("orders"); found[len(found)-1].Partition != found[len(found)-2].Partition {
		t.Errorf("equal keys are in other partitions: %v", found)
	}
}

func TestMoreRecordsThanOneResponseHas(t *testing.T) {
	kafka := mockkafka.Start(t)
	kafka.CreateTopic("orders", 2)
	records := make([]mockkafka.Record, 10_000)
	kafka.ProduceTo("orders", 0, records...)
	kafka.ProduceTo("orders", 1, records...)
	kafka.ProduceTo("orders", 1, records[:5]...)
	found := kafka.Records("orders")
	if len(found) != 20_005 || found[9_999].Offset != 9_999 || found[20_004].Offset != 10_004 {
		t.Errorf("%d records", len(found))
	}
}

func TestAnErrorHasTheStatusAndTheProblem(t *testing.T) {
	kafka := mockkafka.Start(t)
	_, err := kafka.Admin.GetTopic(context.Background(), "a/b c")
	var refused *mockkafka.Error
	if !errors.As(err, &refused) || refused.Status != 404 || !strings.Contains(err.Error(), "a/b c") {
		t.Fatalf("error: %v", err)
	}
	kafka.Fail(mockkafka.ErrorNotEnoughReplicas, mockkafka.When{API: "Produce"})
	err = kafka.Admin.RemoveFault(context.Background(), 99)
	if !errors.As(err, &refused) || refused.Problem.Remedy == nil || !strings.Contains(err.Error(), refused.Problem.Remedy.Effect) {
		t.Errorf("no remedy in: %v", err)
	}
}

func TestTheClockMoves(t *testing.T) {
	kafka := mockkafka.Start(t)
	kafka.SetClock("standing", 0)
	before := kafka.Now()
	if after := kafka.Advance(90 * time.Minute); after.Sub(before) != 90*time.Minute || kafka.Now() != after {
		t.Errorf("from %v to %v", before, after)
	}
	kafka.SetClock("scaled", 2.5)
	if view, err := kafka.Admin.GetClock(context.Background()); err != nil || view.Factor != 2.5 {
		t.Errorf("clock: %+v %v", view, err)
	}
}

func TestFaultsHaveTheFieldsThatWereSet(t *testing.T) {
	kafka := mockkafka.Start(t)
	produce := mockkafka.When{API: mockkafka.APIProduce, Topic: "orders", Partition: mockkafka.Ptr(0), Times: 2}
	first := kafka.Fail(mockkafka.ErrorNotEnoughReplicas, produce)
	kafka.Respond(map[string]any{"throttle_time_ms": 7}, produce)
	kafka.Delay(1500*time.Millisecond, mockkafka.When{API: "Fetch"})
	kafka.DropRequest(produce)
	kafka.DropResponse(produce)
	kafka.DropResponse(mockkafka.When{API: "Fetch", DropAfterBytes: mockkafka.Ptr(3)})
	kafka.Hang(mockkafka.When{API: "Fetch", Seed: 1<<62 + 1})
	kafka.Throttle(time.Second, mockkafka.When{Mute: mockkafka.Ptr(false)})
	var rules []string
	for _, fault := range kafka.Faults() {
		rules = append(rules, fmt.Sprintln(fault.Rule.Error, fault.Rule.Response, fault.Rule.Drop, fault.Rule.Hang,
			fault.Rule.Seed, fault.Rule.ThrottleTimeMS, fault.Rule.Times, fault.Rule.Partition != nil, fault.Rule.DelayMS != nil))
	}
	expected := []string{
		"NOT_ENOUGH_REPLICAS map[] 0 0 2 true false",
		"map[throttle_time_ms:7] 0 0 2 true false",
		"map[] 0 0 0 false true",
		"map[] before_handling 0 0 2 true false",
		"map[] before_response 0 0 2 true false",
		"map[] within_response 0 0 0 false false",
		"map[] before_response 4611686018427387905 0 0 false false",
		"map[] 0 1000 0 false false",
	}
	for i, rule := range rules {
		if strings.Join(strings.Fields(rule), " ") != expected[i] {
			t.Errorf("rule %d: %q, not %q", i, rule, expected[i])
		}
	}
	if first.Count() != 0 || first.IsUsedUp() {
		t.Error("it fired without a request")
	}
	first.Remove()
	if count := len(kafka.Faults()); count != len(expected)-1 {
		t.Errorf("%d rules", count)
	}
	kafka.ClearFaults()
	if count := len(kafka.Faults()); count != 0 {
		t.Errorf("%d rules", count)
	}
	r := &recorder{TB: t, name: "another"}
	if output := r.run(func(t testing.TB) {
		another := mockkafka.Start(t)
		fault := another.Fail("INVALID_RECORD", produce)
		fault.Remove()
		fault.Count()
	}); !strings.Contains(output, "was removed") {
		t.Error(output)
	}
}

func TestAWaitThatEndsSaysWhatThereIs(t *testing.T) {
	kafka := mockkafka.Start(t)
	kafka.Produce("orders", "coffee")
	for expected, wait := range map[string]func(*mockkafka.Kafka){
		`topic 'orders' had 1 of 2 records in 0.01 s`: func(k *mockkafka.Kafka) { k.Produce("orders", "tea"); k.WaitForRecords("orders", 2) },
		`topic 'invoices' did not exist`:              func(k *mockkafka.Kafka) { k.WaitForRecords("invoices", 1) },
		`no request with api='Fetch' in 0.01 s, and no request at all`: func(k *mockkafka.Kafka) {
			k.WaitForRequest(mockkafka.RequestFilter{API: "Fetch"})
		},
		`group "billing" was not stable`: func(k *mockkafka.Kafka) { k.WaitForStable("billing", 1) },
		`fired 0 of 2 in 0.01 s, and matched 0`: func(k *mockkafka.Kafka) {
			k.Fail("INVALID_RECORD", mockkafka.When{API: mockkafka.APIProduce}).Wait(2)
		},
		`held 0 of 1 in 0.01 s, and matched 0`: func(k *mockkafka.Kafka) {
			k.Hold(mockkafka.When{API: mockkafka.APIProduce}).Wait(1)
		},
	} {
		r := &recorder{TB: t, name: "another"}
		output := r.run(func(t testing.TB) { wait(mockkafka.Start(t).Within(10 * time.Millisecond)) })
		if !strings.Contains(output, expected) {
			t.Errorf("no %q in %s", expected, output)
		}
	}
}

func TestASnapshotIsLoadedAsItWas(t *testing.T) {
	kafka := mockkafka.Start(t)
	kafka.Produce("orders", "coffee")
	kafka.Quota(map[string]string{"user": "alice", "client-id": mockkafka.DefaultEntity}, map[string]float64{"producer_byte_rate": 1000})
	kafka.Delay(0, mockkafka.When{API: "Fetch", Seed: 1<<62 + 1})
	before := kafka.Snapshot()
	kafka.Reset()
	if topics := kafka.Topics(); topics != nil {
		t.Errorf("topics after the reset: %v", topics)
	}
	kafka.LoadSnapshot(before)
	if after := kafka.Snapshot(); !reflect.DeepEqual(after, before) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if values := mockkafka.Values(kafka.Records("orders")); !reflect.DeepEqual(values, []string{"coffee"}) {
		t.Errorf("records: %q", values)
	}
	if seed := kafka.Faults()[0].Rule.Seed; seed != 1<<62+1 {
		t.Errorf("seed %d", seed)
	}
}

func TestBrokersStopAndLeadersMove(t *testing.T) {
	kafka := mockkafka.Start(t, mockkafka.WithBrokers(3))
	_, err := kafka.Admin.CreateTopic(context.Background(), mockkafka.NewTopicBody{
		Name: "orders", Partitions: mockkafka.Ptr(1), ReplicationFactor: mockkafka.Ptr(3)})
	if err != nil {
		t.Fatal(err)
	}
	leader := func() int64 { return *kafka.Topics()[0].Partitions[0].Leader }
	kafka.MoveLeader("orders", 0, 2)
	if leader() != 2 {
		t.Errorf("leader %d", leader())
	}
	kafka.StopBroker(2)
	if leader() == 2 {
		t.Error("a stopped broker leads")
	}
	kafka.StartBroker(2)
	kafka.MoveCoordinator("billing", 2)
}

func TestOtherResponsesThanJSON(t *testing.T) {
	kafka := mockkafka.Start(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	metrics, err := kafka.Admin.GetMetrics(ctx)
	if err != nil || !strings.Contains(string(metrics), "# TYPE") {
		t.Errorf("metrics: %s %v", metrics, err)
	}
	events, err := kafka.Admin.FollowRequests(ctx, mockkafka.FollowRequestsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	events.Close()
}
