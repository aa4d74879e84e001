// kfake, franz-go's fake cluster, in a separate process: a rival that figures are compared with.
//
// Behaves like `broker serve`: the first line on stdout is bootstrap.servers=..., SIGTERM ends it.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	brokers := flag.Int("brokers", 1, "how many")
	flag.Parse()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(*brokers), kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("bootstrap.servers=%s\n", strings.Join(cluster.ListenAddrs(), ","))
	<-stop
	cluster.Close()
}
