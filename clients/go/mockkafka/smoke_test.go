package mockkafka_test

import (
	"testing"
	"github.com/mock-kafka/mock-kafka/clients/go/mockkafka"
)

func TestSmoke(t *testing.T) {
	kafka := mockkafka.Start(t, mockkafka.WithBrokers(2))
	kafka.Produce("orders", "a", "b")
	t.Log(kafka.Records("orders"), mockkafka.Values(kafka.WaitForRecords("orders", 2)), kafka.Seeds())
	f := kafka.Fail("NOT_ENOUGH_REPLICAS", mockkafka.When{API: "Produce", Partition: mockkafka.Ptr(0), Topic: "x", Times: 1})
	t.Log(f.Count(), f.Rule)
	t.Log(kafka.Requests(mockkafka.RequestFilter{}))
	kafka.CreateTopic("orders", 1)
}
