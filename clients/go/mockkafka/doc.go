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

//go:generate go run ../internal/generate ../../openapi.json types_generated.go operations_generated.go
