package main

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Reads partition 0 from an offset on. Prints what it read after the first tenth: records, bytes of
// keys and values, seconds, seconds of CPU; and the first and the last offset of all.
func measure(ctx context.Context, seeds kgo.Opt, topic string, count int, start string) {
	offset, err := strconv.ParseInt(start, 10, 64)
	check(err)
	client, err := kgo.NewClient(seeds,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(offset)}}))
	check(err)
	defer client.Close()
	var began time.Time
	var beganCPU float64
	read, warm, bytes := 0, 0, 0
	first, last := int64(-1), int64(-1)
	for read < count {
		fetches := client.PollFetches(ctx)
		check(fetches.Err())
		for iter := fetches.RecordIter(); !iter.Done(); {
			record := iter.Next()
			bytes += len(record.Key) + len(record.Value)
			if first < 0 {
				first = record.Offset
			}
			last = record.Offset
			read++
		}
		if warm == 0 && read*10 >= count {
			began, beganCPU, warm, bytes = time.Now(), cpuSeconds(), read, 0
		}
	}
	fmt.Printf("%d\t%d\t%f\t%f\t%d\t%d\n", read-warm, bytes, time.Since(began).Seconds(),
		cpuSeconds()-beganCPU, first, last)
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
