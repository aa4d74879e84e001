package orders

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var (
	bootstrapServers = os.Getenv("MOCK_KAFKA_BOOTSTRAP_SERVERS")
	adminURL         = os.Getenv("MOCK_KAFKA_ADMIN_URL")
)

// TestMain starts mock-kafka for all tests, unless the environment names a running cluster.
func TestMain(m *testing.M) {
	if adminURL != "" {
		os.Exit(m.Run())
	}
	stop, err := start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mock-kafka:", err)
		os.Exit(1)
	}
	status := m.Run()
	stop()
	os.Exit(status)
}

func start() (stop func(), err error) {
	process := exec.Command("mock-kafka", "serve", "--port", "0", "--admin-port", "0",
		"--until-stdin-closes", "--log-level", "warning")
	process.Stderr = os.Stderr
	// It ends with the tests, also if they are killed, because its standard input closes then.
	if _, err := process.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), "=")
		switch key {
		case "bootstrap.servers":
			bootstrapServers = value
		case "admin.url":
			adminURL = value
			return func() { process.Process.Kill(); process.Wait() }, nil
		}
	}
	return nil, fmt.Errorf("did not start: %w", process.Wait())
}

// ask sends a request to the admin port, and decodes its response unless `into` is nil.
func ask(t *testing.T, method, path, body string, into any) {
	t.Helper()
	request, err := http.NewRequest(method, adminURL+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %v", method, path, text, err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
}

// values returns the values of a topic's records.
func values(t *testing.T, topic string) []string {
	t.Helper()
	var page struct {
		Records []struct{ Value struct{ Text string } }
	}
	ask(t, "GET", "/v1/topics/"+topic+"/records", "", &page)
	var found []string
	for _, record := range page.Records {
		found = append(found, record.Value.Text)
	}
	return found
}
