package main

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// One member of a group and the partitions that its callbacks gave it and took away.
type member struct {
	client *kgo.Client
	mutex  sync.Mutex
	owned  map[int32]bool
	lost   int
	read   map[string]int
	cancel context.CancelFunc
	done   chan struct{}
}

// Starts a member that polls and commits until it leaves; `opts` select its protocol.
func startMember(ctx context.Context, seeds kgo.Opt, topic, group string, opts ...kgo.Opt) *member {
	m := &member{owned: map[int32]bool{}, read: map[string]int{}, done: make(chan struct{})}
	change := func(partitions map[string][]int32, isOwned bool) {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		for _, index := range partitions[topic] {
			if isOwned {
				m.owned[index] = true
			} else {
				delete(m.owned, index)
				m.lost++
			}
		}
	}
	give := func(_ context.Context, _ *kgo.Client, found map[string][]int32) { change(found, true) }
	take := func(ctx context.Context, client *kgo.Client, found map[string][]int32) {
		check(client.CommitUncommittedOffsets(ctx))
		change(found, false)
	}
	lose := func(_ context.Context, _ *kgo.Client, found map[string][]int32) { change(found, false) }
	client, err := kgo.NewClient(append(opts, seeds,
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.OnPartitionsAssigned(give),
		kgo.OnPartitionsRevoked(take),
		kgo.OnPartitionsLost(lose))...)
	check(err)
	m.client = client
	polling, cancel := context.WithCancel(ctx)
	m.cancel = cancel
	go func() {
		defer close(m.done)
		for polling.Err() == nil {
			fetches := client.PollFetches(polling)
			m.mutex.Lock()
			for _, record := range fetches.Records() {
				m.read[string(record.Value)]++
			}
			m.mutex.Unlock()
		}
	}()
	return m
}

func (m *member) leave() {
	m.cancel()
	<-m.done
	m.client.Close()
}

func (m *member) count() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return len(m.owned)
}

func (m *member) readCount() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return len(m.read)
}

func waitUntil(ctx context.Context, isDone func() bool) {
	for !isDone() {
		check(ctx.Err())
		time.Sleep(10 * time.Millisecond)
	}
}

// Reads a topic with members that report to a server-side assignor (KIP-848): one, two, one.
func divide(ctx context.Context, seeds kgo.Opt, topic string, count int, group string) {
	first := startMember(ctx, seeds, topic, group, kgo.ServerSideBalancer())
	waitUntil(ctx, func() bool { return first.count() == partitions && first.readCount() == count })
	fmt.Printf("alone\t%d\t%d\n", first.count(), first.readCount())
	second := startMember(ctx, seeds, topic, group, kgo.ServerSideBalancer())
	waitUntil(ctx, func() bool { return first.count() == 1 && second.count() == 1 })
	fmt.Printf("divided\t%d\t%d\n", first.lost, second.readCount())
	first.leave()
	waitUntil(ctx, func() bool { return second.count() == partitions })
	fmt.Printf("left\t%d\t%d\n", second.lost, second.readCount())
	second.leave()
}

// Stays a member until it is ended, with the given protocol.
func stay(ctx context.Context, seeds kgo.Opt, topic string, group string, protocol string) {
	opts := []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())}
	if protocol == "consumer" {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	m := startMember(ctx, seeds, topic, group, opts...)
	for ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
	m.leave()
}

// Reads a topic with a share group (KIP-932): records are accepted, released and rejected; then two
// members divide the others.
func share(ctx context.Context, seeds kgo.Opt, topic string, count int, group string) {
	startAtTheEarliest(ctx, seeds, group)
	open := func() *kgo.Client {
		client, err := kgo.NewClient(seeds,
			kgo.ShareGroup(group), kgo.ConsumeTopics(topic), kgo.ShareMaxRecords(1))
		check(err)
		return client
	}
	first := open()
	accepted := map[string]int{}
	released, rejected, again := 0, 0, 0
	handle := func(record *kgo.Record) {
		switch {
		case record.DeliveryCount() > 1:
			again++
		case record.Offset == 0:
			released++
			record.Ack(kgo.AckRelease)
			return
		case record.Offset == 1:
			rejected++
			record.Ack(kgo.AckReject)
			return
		}
		accepted[fmt.Sprintf("%d %d", record.Partition, record.Offset)]++
		record.Ack(kgo.AckAccept)
	}
	poll := func(client *kgo.Client) int {
		pause, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		fetches := client.PollRecords(pause, 2)
		fetches.EachRecord(handle)
		check(client.FlushAcks(ctx))
		return fetches.NumRecords()
	}
	for len(accepted) < count/2 {
		poll(first)
		check(ctx.Err())
	}
	second := open()
	shares := map[*kgo.Client]int{}
	for len(accepted)+rejected < count {
		for _, client := range []*kgo.Client{second, first} {
			shares[client] += poll(client)
		}
		check(ctx.Err())
	}
	most := 0
	for _, times := range accepted {
		most = max(most, times)
	}
	fmt.Printf("accepted\t%d\t%d\n", len(accepted), most)
	fmt.Printf("released\t%d\t%d\n", released, again)
	fmt.Printf("rejected\t%d\n", rejected)
	counts := []bool{shares[first] > 0, shares[second] > 0}
	sort.Slice(counts, func(i, j int) bool { return !counts[i] && counts[j] })
	fmt.Printf("both read\t%t\n", counts[0])
	first.Close()
	second.Close()
}

func startAtTheEarliest(ctx context.Context, seeds kgo.Opt, group string) {
	client, err := kgo.NewClient(seeds)
	check(err)
	defer client.Close()
	earliest := "earliest"
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeGroupConfig,
		ResourceName: group,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{
			{Name: "share.auto.offset.reset", Value: &earliest},
		},
	}}
	_, err = request.RequestWith(ctx, client)
	check(err)
}
