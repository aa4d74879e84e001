package mockkafka_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/mock-kafka/mock-kafka/clients/go/mockkafka"
)

// A program, or TestMain, starts a cluster itself. The operations of Admin return errors.
func ExampleNew() {
	ctx := context.Background()
	cluster, err := mockkafka.New(ctx, mockkafka.WithBrokers(3), mockkafka.WithConfig("num.partitions", 6))
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	topic, err := cluster.Admin.CreateTopic(ctx, mockkafka.NewTopicBody{Name: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(cluster.Seeds()), "brokers,", len(topic.Partitions), "partitions")
	// Output: 3 brokers, 6 partitions
}

// Operations that are refused return an *Error, which says what to do.
func ExampleError() {
	ctx := context.Background()
	cluster, err := mockkafka.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	_, err = cluster.Admin.GetTopic(ctx, "orders")
	fmt.Println(err)
	// Output: mock-kafka: there is no topic 'orders', and no other
}

// The cluster loses the acknowledgement of the first Produce request, and refuses the next two.
func ExampleStart() {
	test := func(t *testing.T) {
		kafka := mockkafka.Start(t)
		lost := kafka.DropResponse(mockkafka.When{API: mockkafka.APIProduce, Times: 1})
		kafka.Fail(mockkafka.ErrorNotEnoughReplicas, mockkafka.When{API: mockkafka.APIProduce, Times: 2})
		// ... the code to test produces with kafka.Seeds() ...
		records := kafka.WaitForRecords("orders", 1)
		t.Log(mockkafka.Values(records), lost.Count())
	}
	_ = test
}

// One cluster for all tests of a package, which TestMain starts. Parallel tests wait for each other.
func ExampleCluster_For() {
	var cluster *mockkafka.Cluster
	testMain := func(m *testing.M) int {
		var err error
		if cluster, err = mockkafka.New(context.Background(), mockkafka.WithBrokers(3)); err != nil {
			log.Print(err)
			return 1
		}
		defer cluster.Close()
		return m.Run()
	}
	test := func(t *testing.T) {
		kafka := cluster.For(t)
		kafka.CreateTopic("orders", 1)
	}
	_, _ = testMain, test
}
