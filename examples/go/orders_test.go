package orders

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/mock-kafka/mock-kafka/clients/go/mockkafka"
	"github.com/twmb/franz-go/pkg/kgo"
)

var coffee = Order{ID: 1, Price: 3, Quantity: 2}

// newService returns a service with a new cluster, which has the topics.
func newService(t *testing.T) (*Service, *mockkafka.Kafka, context.Context) {
	t.Helper()
	kafka := mockkafka.Start(t)
	kafka.CreateTopic("orders", 1)
	kafka.CreateTopic("invoices", 1)
	// Else the client waits 5 s after an error, before it asks for metadata again.
	service, err := New(kafka.Seeds(), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return service, kafka, ctx
}

func TestAnOrderGetsAnInvoice(t *testing.T) {
	service, kafka, ctx := newService(t)
	if err := service.Place(ctx, coffee); err != nil {
		t.Fatal(err)
	}
	if err := service.WriteInvoices(ctx, 1); err != nil {
		t.Fatal(err)
	}
	found := mockkafka.Values(kafka.Records("invoices"))
	if !slices.Equal(found, []string{`{"order":1,"total":6}`}) {
		t.Errorf("invoices: %q", found)
	}
}

func TestAnOrderIsStoredOnceWhenTheAcknowledgementIsLost(t *testing.T) {
	service, kafka, ctx := newService(t)
	kafka.DropResponse(mockkafka.When{API: mockkafka.APIProduce, Times: 1})
	if err := service.Place(ctx, coffee); err != nil {
		t.Fatal(err)
	}
	if found := kafka.Records("orders"); len(found) != 1 {
		t.Errorf("orders: %v", found)
	}
	if found := kafka.Requests(mockkafka.RequestFilter{API: mockkafka.APIProduce}); len(found) != 2 {
		t.Errorf("%d Produce requests, not 2", len(found))
	}
}

func TestTheServiceWaitsForReplicas(t *testing.T) {
	service, kafka, ctx := newService(t)
	refused := kafka.Fail(mockkafka.ErrorNotEnoughReplicas, mockkafka.When{API: mockkafka.APIProduce, Times: 2})
	if err := service.Place(ctx, coffee); err != nil {
		t.Fatal(err)
	}
	if found := kafka.Records("orders"); len(found) != 1 || refused.Count() != 2 {
		t.Errorf("orders: %v; refused %d times", found, refused.Count())
	}
}
