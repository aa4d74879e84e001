// Package adapter reads commands as JSON lines from standard input, lets a client library carry them
// out, and writes events as JSON lines to standard output. docs/atlas.md describes both.
package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

const (
	lineBytesMax = 1 << 20
	waitMax      = 15 * time.Second
	beginMax     = time.Second
)

var (
	// ErrUnsupported is the error of a command that the library has no method for.
	ErrUnsupported = errors.New("unsupported")
	// ErrUnanswered is the error of a call that did not return in time.
	ErrUnanswered = errors.New("the call has not returned")
	errMissing    = errors.New("it was not created")
	start         = time.Now()
	output        sync.Mutex
)

// Fields are what an event has besides `event` and `at_ms`.
type Fields map[string]any

// Offsets are those of partitions, by topic.
type Offsets map[string]map[int32]int64

// Command is one line of standard input. Which fields it has depends on its name.
type Command struct {
	N                 int
	Command           string
	Bootstrap         string
	ID                string
	Producer          string
	Consumer          string
	Admin             string
	Settings          Settings
	Topic             string
	Topics            []string
	Assign            map[string][]int32
	Partition         int32
	Partitions        int
	ReplicationFactor int16 `json:"replication_factor"`
	Offset            int64
	Offsets           Offsets
	Key               *string
	Value             *string
	Config            map[string]string
	Group             string
	Type              string
	RecordsMax        int `json:"records_max"`
	Ms                int
	TimeoutMs         int `json:"timeout_ms"`
}

// Timeout returns how long the command may take.
func (c *Command) Timeout() time.Duration {
	if c.TimeoutMs > 0 {
		return time.Duration(c.TimeoutMs) * time.Millisecond
	}
	return waitMax
}

// Client is a library: what it is called, how it names its errors, and what it does on a command.
type Client struct {
	Name     string
	Module   string // of the library, whose version goes into the event `ready`
	Supports []string
	// Describe returns the library's own name of an error, and its class.
	Describe func(error) (name, class string)
	// Begin closes what is left of an experiment.
	Begin func(ctx context.Context)
	// Has reports whether there is a producer, a consumer or an admin client with this id.
	Has      func(id string) bool
	Commands map[string]func(context.Context, *Command) (Fields, error)
}

// Run handles commands until `end` or the end of standard input.
func (client *Client) Run() {
	Emit("ready", Fields{"client": client.Name, "version": version(client.Module), "supports": client.Supports})
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, lineBytesMax)
	servers := ""
	for input.Scan() {
		command := &Command{Partitions: 1, ReplicationFactor: 1}
		if err := json.Unmarshal(input.Bytes(), command); err != nil {
			client.fail(command.N, err)
			continue
		}
		fields := Fields{}
		var err error
		switch command.Command {
		case "begin":
			ctx, cancel := context.WithTimeout(context.Background(), beginMax)
			servers = command.Bootstrap
			err = Within(ctx, func() error { client.Begin(ctx); return nil })
			if errors.Is(err, ErrUnanswered) {
				err = nil // what does not close is forgotten
			}
			cancel()
		case "sleep":
			time.Sleep(time.Duration(command.Ms) * time.Millisecond)
		case "end":
			Emit("done", Fields{"n": command.N})
			return
		default:
			command.Bootstrap = servers
			fields, err = client.carryOut(command)
		}
		switch {
		case errors.Is(err, ErrUnsupported):
			Emit("unsupported", Fields{"n": command.N})
		case err != nil:
			client.fail(command.N, err)
		default:
			if fields == nil {
				fields = Fields{}
			}
			fields["n"] = command.N
			Emit("done", fields)
		}
	}
}

func (client *Client) carryOut(command *Command) (Fields, error) {
	do, isKnown := client.Commands[command.Command]
	if !isKnown {
		return nil, ErrUnsupported
	}
	if id := command.Producer + command.Admin; id != "" && !client.Has(id) {
		return nil, errMissing
	}
	if id := command.Consumer; id != "" && !client.Has(id) {
		return nil, errMissing
	}
	if command.Command == "close" && !client.Has(command.ID) {
		return Fields{"took_ms": 0}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), command.Timeout())
	defer cancel()
	began := time.Now()
	fields, err := do(ctx, command)
	if err != nil {
		return nil, err
	}
	if fields == nil {
		fields = Fields{}
	}
	if command.Command == "close" {
		fields["took_ms"] = time.Since(began).Milliseconds()
	}
	if command.Settings != nil {
		fields["ignored"] = command.Settings.ignored()
	}
	return fields, nil
}

func (client *Client) fail(n int, err error) {
	fields := client.ErrorFields(err)
	fields["n"] = n
	Emit("failed", fields)
}

// ErrorFields returns `error`, `class` and `message`.
func (client *Client) ErrorFields(err error) Fields {
	name, class := "", "unknown"
	switch {
	case errors.Is(err, ErrUnanswered):
		name = "unanswered"
	case errors.Is(err, errMissing):
		name = "missing"
	default:
		name, class = client.Describe(err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		class = "timeout"
	}
	return Fields{"error": name, "class": class, "message": err.Error()}
}

// Delivered reports the outcome of the command `send` with the number n.
func (client *Client) Delivered(n int, offset int64, err error) {
	if err == nil {
		Emit("delivered", Fields{"send": n, "offset": offset})
		return
	}
	fields := client.ErrorFields(err)
	fields["send"] = n
	Emit("undelivered", fields)
}

// Within returns what a call without a context returns, or ErrUnanswered when the context ends.
func Within(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ErrUnanswered
	}
}

// Name returns the name of one of the errors in `names`, or the type of the innermost error, or its
// text where its type is that of any error.
func Name(err error, names map[error]string) string {
	for known, name := range names {
		if errors.Is(err, known) {
			return name
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "context.DeadlineExceeded"
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "os.ErrDeadlineExceeded"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	if name := fmt.Sprintf("%T", err); name != "*errors.errorString" && name != "*fmt.wrapErrors" {
		return name
	}
	return err.Error()
}

// Emit writes one event.
func Emit(event string, fields Fields) {
	fields["event"] = event
	fields["at_ms"] = time.Since(start).Milliseconds()
	line, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

// Text returns the text of a key or a value, which may be null.
func Text(content []byte) any {
	if content == nil {
		return nil
	}
	return string(content)
}

// Bytes returns the key or the value of a command.
func Bytes(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return strings.TrimPrefix(dependency.Version, "v")
		}
	}
	return ""
}
