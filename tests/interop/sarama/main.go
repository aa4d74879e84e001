// sarama: `produce SERVERS TOPIC COUNT`; exits with 1 when a record was not delivered. Or `acls COMMAND
// SERVERS USER PASSWORD WORDS`, in acls.go.
package main

import (
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/IBM/sarama"
)

const partitions = 2

func main() {
	if os.Args[1] == "acls" {
		acls(os.Args[2], strings.Split(os.Args[3], ","), os.Args[4], os.Args[5], os.Args[6:])
		return
	}
	servers, topic := strings.Split(os.Args[2], ","), os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	config := sarama.NewConfig()
	// Idempotence, and what sarama demands with it.
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Net.MaxOpenRequests = 1
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	producer, err := sarama.NewAsyncProducer(servers, config)
	check(err)
	go func() {
		for number := range count {
			producer.Input() <- &sarama.ProducerMessage{
				Topic:     topic,
				Partition: int32(number % partitions),
				Value:     sarama.StringEncoder(strconv.Itoa(number)),
			}
		}
	}()
	failures := 0
	for range count {
		select {
		case <-producer.Successes():
		case failure := <-producer.Errors():
			log.Print(failure)
			failures++
		}
	}
	check(producer.Close())
	if failures > 0 {
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
