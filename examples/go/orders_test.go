package orders

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

var coffee = Order{ID: 1, Price: 3, Quantity: 2}

func newService(t *testing.T) (*Service, context.Context) {
	t.Helper()
	ask(t, "POST", "/v1/reset", "", nil)
	ask(t, "POST", "/v1/topics", `{"name": "orders", "partitions": 1}`, nil)
	ask(t, "POST", "/v1/topics", `{"name": "invoices", "partitions": 1}`, nil)
	service, err := New(strings.Split(bootstrapServers, ",")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return service, ctx
}

func TestAnOrderGetsAnInvoice(t *testing.T) {
	service, ctx := newService(t)
	if err := service.Place(ctx, coffee); err != nil {
		t.Fatal(err)
	}
	if err := service.WriteInvoices(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if found := values(t, "invoices"); !slices.Equal(found, []string{`{"order":1,"total":6}`}) {
		t.Errorf("invoices: %q", found)
	}
}

func TestAnOrderIsStoredOnceWhenTheAcknowledgementIsLost(t *testing.T) {
	service, ctx := newService(t)
	ask(t, "POST", "/v1/faults", `{"api": "Produce", "drop": "before_response", "times": 1}`, nil)
	if err := service.Place(ctx, coffee); err != nil {
		t.Fatal(err)
	}
	if found := values(t, "orders"); len(found) != 1 {
		t.Errorf("orders: %q", found)
	}
	var requests []any
	ask(t, "GET", "/v1/requests?api=Produce", "", &requests)
	if len(requests) != 2 {
		t.Errorf("%d Produce requests, not 2", len(requests))
	}
}

func TestTheServiceWaitsForReplicas(t *testing.T) {
	service, ctx := newService(t)
	ask(t, "POST", "/v1/faults", `{"api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "times": 2}`, nil)
	if err := service.Place(ctx, coffee); err != nil {
		t.Fatal(err)
	}
	if found := values(t, "orders"); len(found) != 1 {
		t.Errorf("orders: %q", found)
	}
}
