package mockkafka_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mock-kafka/mock-kafka/clients/go/mockkafka"
)

// recorder is a test that notes what it logs and whether it fails. It runs functions that may fail it.
type recorder struct {
	testing.TB
	name     string
	failed   bool
	lines    []string
	cleanups []func()
}

func (r *recorder) Name() string              { return r.name }
func (r *recorder) Failed() bool              { return r.failed }
func (r *recorder) Helper()                   {}
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Log(values ...any)         { r.lines = append(r.lines, fmt.Sprintln(values...)) }
func (r *recorder) Error(values ...any)       { r.Log(values...); r.failed = true }
func (r *recorder) Fatal(values ...any)       { r.Error(values...); panic(r) }
func (r *recorder) Logf(f string, v ...any)   { r.Log(fmt.Sprintf(f, v...)) }
func (r *recorder) Errorf(f string, v ...any) { r.Error(fmt.Sprintf(f, v...)) }
func (r *recorder) Fatalf(f string, v ...any) { r.Fatal(fmt.Sprintf(f, v...)) }

// run runs a test to its end, with its cleanups, and returns its output.
func (r *recorder) run(test func(t testing.TB)) string {
	defer func() {
		for _, cleanup := range slices.Backward(r.cleanups) {
			cleanup()
		}
	}()
	func() {
		defer func() {
			if reason := recover(); reason != nil && reason != any(r) {
				panic(reason)
			}
		}()
		test(r)
	}()
	for _, cleanup := range slices.Backward(r.cleanups) {
		cleanup()
	}
	r.cleanups = nil
	return strings.Join(r.lines, "")
}

func TestATestHasAnEmptyClusterThatWasUsedBefore(t *testing.T) {
	var urls []string
	for range 2 {
		t.Run("", func(t *testing.T) {
			kafka := mockkafka.Start(t, mockkafka.WithConfig("num.partitions", 3))
			if topics := kafka.Topics(); len(topics) != 0 {
				t.Errorf("topics: %v", topics)
			}
			kafka.Produce("orders", "coffee")
			if count := len(kafka.Topics()[0].Partitions); count != 3 {
				t.Errorf("%d partitions", count)
			}
			urls = append(urls, kafka.Admin.URL)
		})
	}
	if urls[0] != urls[1] {
		t.Errorf("two clusters: %v", urls)
	}
}

func TestParallelTestsHaveAClusterEach(t *testing.T) {
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			kafka := mockkafka.Start(t)
			for j := range 20 {
				kafka.Produce("orders", fmt.Sprint(i, j))
			}
			for _, value := range mockkafka.Values(kafka.WaitForRecords("orders", 20)) {
				if !strings.HasPrefix(value, fmt.Sprint(i, " ")) {
					t.Errorf("a record of another test: %q", value)
				}
			}
		})
	}
}

func TestATestWithNewPortsLeavesItsClientsBehind(t *testing.T) {
	var servers []string
	for range 2 {
		t.Run("", func(t *testing.T) {
			kafka := mockkafka.Start(t, mockkafka.WithNewPorts(), mockkafka.WithBrokers(2))
			for _, seed := range kafka.Seeds() {
				connection, err := net.Dial("tcp", seed)
				if err != nil {
					t.Fatal(err)
				}
				connection.Close()
			}
			servers = append(servers, kafka.BootstrapServers())
		})
	}
	if servers[0] == servers[1] || strings.Count(servers[1], ",") != 1 {
		t.Errorf("addresses: %q", servers)
	}
}

func TestATestThatFailsLogsItsRequests(t *testing.T) {
	r := &recorder{TB: t, name: t.Name()}
	output := r.run(func(t testing.TB) {
		kafka := mockkafka.Start(t)
		kafka.AddFault(mockkafka.FaultRule{RefuseConnection: mockkafka.Ptr(true), Times: 1})
		connection, err := net.Dial("tcp", kafka.Seeds()[0])
		if err == nil {
			_, err = connection.Read(make([]byte, 1))
		}
		kafka.WaitForRequest(mockkafka.RequestFilter{Kind: "connection"})
		kafka.CreateTopic("a/b", 1)
		t.Error("more of this test runs:", err)
	})
	for _, expected := range []string{"INVALID_TOPIC_EXCEPTION", "the last requests of mock-kafka:\n  #1", "refused"} {
		if !strings.Contains(output, expected) {
			t.Errorf("no %q in %s", expected, output)
		}
	}
	if !r.failed || strings.Contains(output, "more of this test runs") {
		t.Errorf("not failed at once: %s", output)
	}
}

func TestATestWithAnAuditFailsForItsFindings(t *testing.T) {
	r := &recorder{TB: t, name: t.Name()}
	output := r.run(func(t testing.TB) {
		kafka := mockkafka.Start(t, mockkafka.WithAudit())
		kafka.CreateTopic("orders", 1)
		snapshot := kafka.Snapshot()
		snapshot.Offsets = []mockkafka.SavedOffset{{Group: "billing", Topic: "orders", Offset: 100}}
		kafka.LoadSnapshot(snapshot)
		if r.failed {
			t.Error("it failed before its end")
		}
	})
	expected := "audit: offset_beyond_log_end: orders-0: group 'billing' has committed offset 100"
	if !r.failed || !strings.Contains(output, expected) || strings.Contains(output, "before its end") {
		t.Errorf("output: %s", output)
	}
}

func TestAClusterThatDoesNotStartSaysWhy(t *testing.T) {
	_, err := mockkafka.New(context.Background(), mockkafka.WithConfig("num.partition", 2))
	if err == nil || !strings.Contains(err.Error(), "num.partitions") || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("error: %v", err)
	}
	r := &recorder{TB: t, name: t.Name()}
	output := r.run(func(t testing.TB) { mockkafka.Start(t, mockkafka.WithConfig("num.partition", 2)) })
	if !strings.Contains(output, "num.partitions") {
		t.Errorf("output: %s", output)
	}
}

func TestAStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := mockkafka.New(ctx, mockkafka.WithCommand("sh", "-c", "echo waiting >&2; cat"))
	if err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("error: %v", err)
	}
}

func TestWithoutAProgramTheErrorSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("MOCK_KAFKA_COMMAND", "")
	_, err := mockkafka.New(context.Background())
	for _, expected := range []string{"MOCK_KAFKA_BOOTSTRAP_SERVERS", "MOCK_KAFKA_COMMAND", "uvx", "podman", "pip install"} {
		if err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("no %q in: %v", expected, err)
		}
	}
	t.Setenv("MOCK_KAFKA_ADMIN_URL", "http://127.0.0.1:1")
	if _, err := mockkafka.New(context.Background()); err == nil || !strings.Contains(err.Error(), "set both") {
		t.Errorf("error: %v", err)
	}
}

// program returns the path of the program that tests start.
func program(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("MOCK_KAFKA_COMMAND"); path != "" {
		return path
	}
	path, err := exec.LookPath("mock-kafka")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheProgramIsFoundByOtherMeans(t *testing.T) {
	image := "MOCK_KAFKA_HOST=0.0.0.0 MOCK_KAFKA_ADVERTISED_HOST=localhost MOCK_KAFKA_ADMIN_HOST=0.0.0.0"
	for name, script := range map[string]string{
		"uvx":    `[ "$1" = "mock-kafka==` + mockkafka.Version + `" ] || exit 3; shift; exec %s "$@"`,
		"docker": `while [ "$1" != "an-image" ]; do shift; done; shift; exec env ` + image + ` %s "$@"`,
		"podman": `while [ "$1" != "an-image" ]; do shift; done; shift; exec env ` + image + ` %s "$@"`,
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			text := fmt.Sprintf("#!/bin/sh\n"+script+"\n", program(t))
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, tool := range []string{"sh", "env"} {
				if path, err := exec.LookPath(tool); err == nil {
					os.Symlink(path, filepath.Join(folder, tool))
				}
			}
			t.Setenv("PATH", folder)
			t.Setenv("MOCK_KAFKA_COMMAND", "")
			t.Setenv("MOCK_KAFKA_IMAGE", "an-image")
			cluster, err := mockkafka.New(context.Background(), mockkafka.WithBrokers(2))
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			cluster.For(t).Produce("orders", "coffee")
			for _, seed := range cluster.Seeds() {
				connection, err := net.Dial("tcp", seed)
				if err != nil {
					t.Fatal(err)
				}
				connection.Close()
			}
		})
	}
}

func TestTestsShareTheClusterOfTheEnvironment(t *testing.T) {
	cluster, err := mockkafka.New(context.Background(), mockkafka.WithBrokers(2))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	t.Setenv("MOCK_KAFKA_BOOTSTRAP_SERVERS", cluster.BootstrapServers)
	t.Setenv("MOCK_KAFKA_ADMIN_URL", cluster.Admin.URL)
	t.Setenv("PATH", "")
	t.Setenv("MOCK_KAFKA_COMMAND", "")

	var outputs = make(chan string)
	for i := range 3 {
		r := &recorder{TB: t, name: fmt.Sprint("test", i)}
		go func() {
			outputs <- r.run(func(t testing.TB) {
				kafka := mockkafka.Start(t, mockkafka.WithBrokers(2))
				for range 20 {
					kafka.Produce("orders", r.name)
				}
				for _, value := range mockkafka.Values(kafka.Records("orders")) {
					if value != r.name {
						t.Errorf("%s has a record of %s", r.name, value)
					}
				}
			})
		}()
	}
	for range 3 {
		if output := <-outputs; output != "" {
			t.Error(output)
		}
	}
	r := &recorder{TB: t, name: "test"}
	output := r.run(func(t testing.TB) { mockkafka.Start(t, mockkafka.WithBrokers(3)) })
	if !strings.Contains(output, "has 2 brokers, and the test asks for 3") {
		t.Error(output)
	}
	r = &recorder{TB: t, name: "test"}
	output = r.run(func(t testing.TB) {
		mockkafka.Start(t)
		inner := &recorder{TB: t, name: "test/inner"}
		t.Log(inner.run(func(t testing.TB) { mockkafka.Start(t) }))
	})
	if !strings.Contains(output, "test has the cluster already") {
		t.Error(output)
	}
	if err := cluster.Admin.ClearRequests(context.Background()); err != nil {
		t.Errorf("the tests have stopped the cluster: %v", err)
	}
}

const waitVariable = "MOCK_KAFKA_TEST_WAITS"

// It runs in another process, which TestAKilledTestLeavesNoClusterBehind kills.
func TestThatWaits(t *testing.T) {
	if os.Getenv(waitVariable) == "" {
		t.Skip("part of another test")
	}
	fmt.Println(mockkafka.Start(t).Seeds()[0])
	select {}
}

func TestAKilledTestLeavesNoClusterBehind(t *testing.T) {
	process := exec.Command(os.Args[0], "-test.run", "^TestThatWaits$")
	process.Env = append(os.Environ(), waitVariable+"=1")
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	process.Process.Kill()
	process.Wait()
	connection.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := connection.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
		t.Fatalf("the cluster still runs: %v", err) // else it is EOF or a reset
	} else if !errors.Is(err, io.EOF) {
		t.Log(err)
	}
	if connection, err := net.Dial("tcp", strings.TrimSpace(address)); err == nil {
		connection.Close()
		t.Error("the cluster still listens")
	}
}
