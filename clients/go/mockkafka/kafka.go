package mockkafka

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Kafka is a cluster in a test. Its methods fail the test if the cluster refuses something, so they return
// no error. Call them in the goroutine of the test. The operations of Admin return errors.
type Kafka struct {
	Admin   *Admin // every operation of the admin port
	Cluster *Cluster

	t        testing.TB
	ctx      context.Context
	timeout  time.Duration
	settings options
}

// Ptr returns a pointer to a value, for fields such as When.Partition whose 0 is a value.
func Ptr[V any](value V) *V { return &value }

func must[V any](k *Kafka) func(V, error) V {
	return func(value V, err error) V {
		k.t.Helper()
		k.check(err)
		return value
	}
}

func (k *Kafka) check(err error) {
	if err != nil {
		k.t.Helper()
		k.t.Fatal(err)
	}
}

// BootstrapServers returns HOST:PORT of every broker, with commas between.
func (k *Kafka) BootstrapServers() string { return k.Cluster.BootstrapServers }

// Seeds returns HOST:PORT of every broker, for kgo.SeedBrokers and the like.
func (k *Kafka) Seeds() []string { return k.Cluster.Seeds() }

// Within returns the same cluster with another timeout of methods that wait; it is 10 s of real time otherwise.
func (k *Kafka) Within(timeout time.Duration) *Kafka {
	changed := *k
	changed.timeout = timeout
	return &changed
}

// Reset restores the state after the start, and closes all connections. Each test begins with it.
func (k *Kafka) Reset() {
	k.t.Helper()
	if !k.settings.isNewPorts {
		k.check(k.Admin.Reset(k.ctx, ResetBody{}))
		return
	}
	k.check(k.Admin.Reset(k.ctx, ResetBody{Ports: "new"}))
	var addresses []string
	for _, broker := range must[[]BrokerView](k)(k.Admin.ListBrokers(k.ctx)) {
		addresses = append(addresses, fmt.Sprintf("%s:%d", broker.Host, broker.Port))
	}
	k.Cluster.BootstrapServers = strings.Join(addresses, ",")
}

// Advance moves the clock of the cluster forward, and returns its new time. What becomes due happens before
// this returns: members time out, records expire, delayed responses are sent.
func (k *Kafka) Advance(duration time.Duration) time.Time {
	k.t.Helper()
	body := AdvanceBody{MS: Ptr(duration.Milliseconds())}
	return time.UnixMilli(must[ClockView](k)(k.Admin.AdvanceClock(k.ctx, body)).NowMS)
}

// Now returns the time of the cluster.
func (k *Kafka) Now() time.Time {
	k.t.Helper()
	return time.UnixMilli(must[ClockView](k)(k.Admin.GetClock(k.ctx)).NowMS)
}

// SetClock has the clock of the cluster run in real time ("real"), stand still ("standing"), or run `factor`
// times as fast ("scaled"). The other modes have no factor; give them 0.
func (k *Kafka) SetClock(mode string, factor float64) {
	k.t.Helper()
	body := ClockBody{Mode: mode}
	if factor != 0 {
		body.Factor = &factor
	}
	must[ClockView](k)(k.Admin.PutClock(k.ctx, body))
}

// StopBroker closes the connections of a broker and refuses new ones; its leaders move to other brokers.
func (k *Kafka) StopBroker(broker int) {
	k.t.Helper()
	must[BrokerView](k)(k.Admin.StopBroker(k.ctx, broker, StopBody{}))
}

// StartBroker starts a broker that was stopped, isolated or fenced.
func (k *Kafka) StartBroker(broker int) {
	k.t.Helper()
	must[BrokerView](k)(k.Admin.StartBroker(k.ctx, broker, StartBody{}))
}

// MoveLeader makes a broker the leader of a partition.
func (k *Kafka) MoveLeader(topic string, partition, broker int) {
	k.t.Helper()
	must[PartitionView](k)(k.Admin.PutLeader(k.ctx, topic, partition, LeaderBody{Broker: &broker}))
}

// MoveCoordinator makes a broker the coordinator of a group or a transactional id.
func (k *Kafka) MoveCoordinator(group string, broker int) {
	k.t.Helper()
	k.check(k.Admin.PutCoordinator(k.ctx, group, CoordinatorBody{Broker: broker}))
}

// DefaultEntity is the name of the default of its type, for [Kafka.Quota].
const DefaultEntity = "<default>"

// Quota sets quotas of an entity, which has the keys user, client-id or ip, such as
//
//	kafka.Quota(map[string]string{"client-id": "billing"}, map[string]float64{"producer_byte_rate": 1000})
func (k *Kafka) Quota(entity map[string]string, quotas map[string]float64) {
	k.t.Helper()
	body := QuotaBody{Entity: map[string]*string{}, Values: map[string]*float64{}}
	for kind, name := range entity {
		if body.Entity[kind] = &name; name == DefaultEntity {
			body.Entity[kind] = nil
		}
	}
	for name, value := range quotas {
		body.Values[name] = &value
	}
	must[[]QuotaView](k)(k.Admin.PutQuotas(k.ctx, body))
}

// Transactions returns all transactional ids with their latest transactions.
func (k *Kafka) Transactions() []TransactionView {
	k.t.Helper()
	return must[[]TransactionView](k)(k.Admin.ListTransactions(k.ctx))
}

// Audit compares the acknowledgements that were sent with the logs, for a cluster that was started [WithAudit].
func (k *Kafka) Audit() AuditView {
	k.t.Helper()
	return must[AuditView](k)(k.Admin.GetAudit(k.ctx))
}

// Snapshot returns the setup of the cluster with its records, for [Kafka.LoadSnapshot]. It is JSON, if you store it.
func (k *Kafka) Snapshot() Snapshot {
	k.t.Helper()
	return must[Snapshot](k)(k.Admin.GetSnapshot(k.ctx, GetSnapshotQuery{}))
}

// LoadSnapshot resets the cluster and loads a snapshot.
func (k *Kafka) LoadSnapshot(snapshot Snapshot) {
	k.t.Helper()
	k.check(k.Admin.PutSnapshot(k.ctx, snapshot, PutSnapshotQuery{}))
}

// Groups ----------------------------------------------------------------------------------------

// TopicPartition is a partition of a topic.
type TopicPartition struct {
	Topic     string
	Partition int
}

// Groups returns all groups of every type with their members and offsets.
func (k *Kafka) Groups() []GroupView {
	k.t.Helper()
	return must[[]GroupView](k)(k.Admin.ListGroups(k.ctx))
}

// Committed returns the committed offsets of a group. A partition without one is not in the map.
func (k *Kafka) Committed(group string) map[TopicPartition]int64 {
	k.t.Helper()
	return k.offsets(group, func(found GroupOffsetView) *int64 { return found.Offset })
}

// Lag returns how many offsets a group is behind the end of each partition that it reads.
func (k *Kafka) Lag(group string) map[TopicPartition]int64 {
	k.t.Helper()
	return k.offsets(group, func(found GroupOffsetView) *int64 { return found.Lag })
}

func (k *Kafka) offsets(group string, field func(GroupOffsetView) *int64) map[TopicPartition]int64 {
	k.t.Helper()
	offsets := map[TopicPartition]int64{}
	for _, found := range must[[]GroupOffsetView](k)(k.Admin.ListGroupOffsets(k.ctx, group)) {
		if value := field(found); value != nil {
			offsets[TopicPartition{found.Topic, int(found.Partition)}] = *value
		}
	}
	return offsets
}

// WaitForStable returns a group when each of its members has its final assignment. It has as many members as
// `members`, or with 0 at least one.
func (k *Kafka) WaitForStable(group string, members int) GroupView {
	k.t.Helper()
	query := WaitForStableGroupQuery{TimeoutMS: Ptr(int(k.timeout.Milliseconds()))}
	if members > 0 {
		query.Members = Ptr(int64(members))
	}
	found := must[*GroupView](k)(k.Admin.WaitForStableGroup(k.ctx, group, query))
	if found == nil {
		now, err := k.Admin.GetGroup(k.ctx, group)
		k.t.Fatalf("mock-kafka: group %q was not stable in %v: it is %q with %d members (%v)",
			group, k.timeout, now.State, len(now.Members), err)
	}
	return *found
}

// Faults ----------------------------------------------------------------------------------------

// When says which requests a fault rule matches, and on which of these it fires; see docs/faults.md. It may
// have the fields of further actions. When{} is every request.
type When = FaultRule

// Fault is a rule of the cluster.
type Fault struct {
	ID   int64
	Rule FaultRule

	kafka *Kafka
}

// Fail returns an error for everything that a request names. The request is not handled, or with
// At: "before_response" it is.
func (k *Kafka) Fail(code ErrorCode, when When) *Fault {
	k.t.Helper()
	when.Error = code
	return k.AddFault(when)
}

// Respond sets fields of the response, by the names of Kafka's schemas. All others keep their values.
func (k *Kafka) Respond(response map[string]any, when When) *Fault {
	k.t.Helper()
	when.Response = response
	return k.AddFault(when)
}

// Delay delays the response.
func (k *Kafka) Delay(duration time.Duration, when When) *Fault {
	k.t.Helper()
	when.DelayMS = Ptr(duration.Milliseconds())
	return k.AddFault(when)
}

// DropRequest closes the connection instead of handling the request.
func (k *Kafka) DropRequest(when When) *Fault {
	k.t.Helper()
	when.Drop = "before_handling"
	return k.AddFault(when)
}

// DropResponse handles the request, and closes the connection instead of sending the response. With
// DropAfterBytes it sends this many bytes of the response first.
func (k *Kafka) DropResponse(when When) *Fault {
	k.t.Helper()
	if when.Drop = "before_response"; when.DropAfterBytes != nil {
		when.Drop = "within_response"
	}
	return k.AddFault(when)
}

// Hang handles the request and never responds; with Hang: "before_handling" it does not handle it.
func (k *Kafka) Hang(when When) *Fault {
	k.t.Helper()
	if when.Hang == "" {
		when.Hang = "before_response"
	}
	return k.AddFault(when)
}

// Hold keeps requests until [Hold.Release], before they are handled, or with Hold: "before_response" after that.
// Others go on; no clock releases them.
func (k *Kafka) Hold(when When) *Hold {
	k.t.Helper()
	if when.Hold == "" {
		when.Hold = "before_handling"
	}
	return &Hold{k.AddFault(when)}
}

// Throttle returns a throttle time, and mutes the connection for it unless Mute is false.
func (k *Kafka) Throttle(duration time.Duration, when When) *Fault {
	k.t.Helper()
	when.ThrottleTimeMS = int(duration.Milliseconds())
	return k.AddFault(when)
}

// AddFault adds a rule after all others.
func (k *Kafka) AddFault(rule FaultRule) *Fault {
	k.t.Helper()
	var added FaultView
	k.check(decode(must[json.RawMessage](k)(k.Admin.AddFaults(k.ctx, rule)), &added))
	return &Fault{added.ID, added.Rule, k}
}

// Faults returns all rules in the order of their evaluation, with the numbers of requests on which they fired.
func (k *Kafka) Faults() []FaultView {
	k.t.Helper()
	return must[[]FaultView](k)(k.Admin.ListFaults(k.ctx))
}

// ClearFaults removes all rules.
func (k *Kafka) ClearFaults() {
	k.t.Helper()
	k.check(k.Admin.ClearFaults(k.ctx))
}

// Count returns the number of requests on which the rule has fired.
func (f *Fault) Count() int {
	f.kafka.t.Helper()
	return int(f.now().Fired)
}

// MatchCount returns the number of requests that matched, whether the rule fired or not.
func (f *Fault) MatchCount() int {
	f.kafka.t.Helper()
	return int(f.now().Matched)
}

// IsArmed says whether the rule can match the next request. It cannot before the rule in After has fired.
func (f *Fault) IsArmed() bool {
	f.kafka.t.Helper()
	return f.now().IsArmed
}

// IsUsedUp says whether the rule can never fire again.
func (f *Fault) IsUsedUp() bool {
	f.kafka.t.Helper()
	return f.now().IsUsedUp
}

// Wait returns when the rule has fired on `count` requests. It fails the test after the timeout of
// [Kafka.Within], with the requests that come nearest to the conditions of the rule.
func (f *Fault) Wait(count int) {
	f.kafka.t.Helper()
	f.wait(WaitForFaultQuery{Fired: Ptr(int64(count))})
}

func (f *Fault) wait(query WaitForFaultQuery) {
	f.kafka.t.Helper()
	query.TimeoutMS = Ptr(int(f.kafka.timeout.Milliseconds()))
	must[FaultView](f.kafka)(f.kafka.Admin.WaitForFault(f.kafka.ctx, f.ID, query))
}

// Remove removes the rule. Responses that it delays stay delayed, requests that it holds go on.
func (f *Fault) Remove() {
	f.kafka.t.Helper()
	f.kafka.check(f.kafka.Admin.RemoveFault(f.kafka.ctx, f.ID))
}

func (f *Fault) now() (found FaultView) {
	f.kafka.t.Helper()
	for _, found = range f.kafka.Faults() {
		if found.ID == f.ID {
			return found
		}
	}
	f.kafka.check(fmt.Errorf("mock-kafka: rule %d was removed, or the cluster was reset", f.ID))
	return found
}

// Hold is a rule that holds requests until they are released.
type Hold struct{ *Fault }

// HeldCount returns the number of requests that it holds.
func (h *Hold) HeldCount() int {
	h.kafka.t.Helper()
	return int(h.now().Held)
}

// Wait returns when the rule holds `count` requests at the same time. It fails the test after the timeout of
// [Kafka.Within].
func (h *Hold) Wait(count int) {
	h.kafka.t.Helper()
	h.wait(WaitForFaultQuery{Held: int64(count)})
}

// Release has all requests go on, and the rule holds no others. What they do has happened when this returns,
// and their responses are sent.
func (h *Hold) Release() {
	h.kafka.t.Helper()
	must[FaultView](h.kafka)(h.kafka.Admin.ReleaseHeld(h.kafka.ctx, h.ID, ReleaseBody{}))
}

// ReleaseOldest has the oldest `count` requests go on.
func (h *Hold) ReleaseOldest(count int) {
	h.kafka.t.Helper()
	body := ReleaseBody{Count: Ptr(int64(count))}
	must[FaultView](h.kafka)(h.kafka.Admin.ReleaseHeld(h.kafka.ctx, h.ID, body))
}
