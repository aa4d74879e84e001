package mockkafka

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	idleMax         = 8
	requestsShown   = 20
	waitTimeout     = 10 * time.Second
	responseTimeout = time.Minute
	lendTimeout     = 5 * time.Minute
)

// pool has the clusters that no test uses, the one that was used last at the end.
var pool struct {
	sync.Mutex
	idle   []*Cluster
	shared *Cluster // the one that the environment names
}

// Start returns a running, empty cluster that no other test uses until this one ends.
//
// Clusters are reused: the next test with the same options gets this one, after a reset, which takes a
// millisecond. Parallel tests have a cluster each. If the environment names a running cluster, all tests
// share it, one after another.
func Start(t testing.TB, opts ...Option) *Kafka {
	t.Helper()
	settings := settingsOf(opts)
	c, err := lend(settings, opts)
	if err != nil {
		t.Fatal(err)
	}
	if c.process != nil {
		t.Cleanup(func() { takeBack(c) })
	}
	return c.lendTo(t, settings)
}

func lend(settings options, opts []Option) (*Cluster, error) {
	ctx := context.Background()
	pool.Lock()
	if os.Getenv("MOCK_KAFKA_ADMIN_URL") != "" { // all tests share it, so `lendTo` waits
		defer pool.Unlock()
		if pool.shared == nil {
			found, err := New(ctx, opts...)
			if err != nil {
				return nil, err
			}
			pool.shared = found
		}
		return pool.shared, pool.shared.checkBrokers(ctx, settings.brokers)
	}
	for i := len(pool.idle) - 1; i >= 0; i-- {
		if c := pool.idle[i]; c.isRunning() && fmt.Sprint(c.options) == fmt.Sprint(settings) {
			pool.idle = append(pool.idle[:i], pool.idle[i+1:]...)
			pool.Unlock()
			return c, nil
		}
	}
	pool.Unlock()
	return New(ctx, opts...)
}

func takeBack(c *Cluster) {
	pool.Lock()
	defer pool.Unlock()
	if pool.idle = append(pool.idle, c); len(pool.idle) > idleMax {
		go pool.idle[0].Close()
		pool.idle = pool.idle[1:]
	}
}

// For resets the cluster and lends it to a test, until that ends. Other tests wait for it.
//
// A test that fails logs the last requests, and the log of the cluster.
func (c *Cluster) For(t testing.TB) *Kafka {
	t.Helper()
	return c.lendTo(t, c.options)
}

func (c *Cluster) lendTo(t testing.TB, settings options) *Kafka {
	t.Helper()
	if holder := c.holder.Load().(string); holder != "" && strings.HasPrefix(t.Name()+"/", holder+"/") {
		t.Fatalf("mock-kafka: %s has the cluster already, and there is one only", holder)
	}
	select {
	case c.lent <- struct{}{}:
	case <-time.After(lendTimeout):
		t.Fatalf("mock-kafka: %s has the cluster since %v; call t.Parallel() before it", c.holder.Load(), lendTimeout)
	}
	c.holder.Store(t.Name())
	ctx, cancel := context.WithCancel(context.Background())
	k := &Kafka{Admin: c.Admin, Cluster: c, t: t, ctx: ctx, timeout: waitTimeout, settings: settings}
	t.Cleanup(func() {
		k.end()
		cancel()
		c.holder.Store("")
		<-c.lent
	})
	k.Reset()
	return k
}

// end checks the audit, and describes a failure.
func (k *Kafka) end() {
	ctx, cancel := context.WithTimeout(context.Background(), responseTimeout)
	defer cancel()
	if k.settings.isAudited && k.Cluster.isRunning() {
		report, err := k.Admin.GetAudit(ctx)
		if err != nil {
			k.t.Error(err)
		}
		for _, finding := range report.Findings {
			if finding.Kind != "lost_by_election" && finding.Kind != "lost_by_truncation" {
				k.t.Errorf("mock-kafka: audit: %s: %s-%d: %s",
					finding.Kind, finding.Topic, finding.Partition, finding.Detail)
			}
		}
	}
	if !k.t.Failed() {
		return
	}
	var found []Request
	query := RequestFilter{Limit: requestsShown, Bodies: Ptr(false)}
	if err := k.Admin.Do(ctx, "GET", "/v1/requests", query, nil, &found); err != nil {
		k.t.Log(err)
	}
	k.t.Logf("the last requests of mock-kafka:%s", linesOf(found))
	if log := k.Cluster.Log(); log != "" {
		k.t.Logf("the log of mock-kafka:\n%s", log)
	}
}
