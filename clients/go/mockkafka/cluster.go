package mockkafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 5 * time.Second
	logBytesMax  = 64 << 10
)

// An Option configures a cluster that starts.
type Option func(*options)

type options struct {
	brokers    int
	config     []string
	command    []string
	token      string
	isAudited  bool
	isNewPorts bool
}

func settingsOf(opts []Option) (settings options) {
	for _, option := range opts {
		option(&settings)
	}
	return settings
}

// WithBrokers starts this many brokers, with the node ids 1, 2 and so on.
func WithBrokers(count int) Option { return func(o *options) { o.brokers = count } }

// WithConfig sets a key of the brokers, such as WithConfig("num.partitions", 6).
func WithConfig(key string, value any) Option {
	return func(o *options) {
		o.config = append(o.config, "-o", fmt.Sprintf("%s=%v", key, value))
		if key == "broker.admin.token" {
			o.token = fmt.Sprint(value)
		}
	}
}

// WithCommand starts another program than mock-kafka. It gets the arguments of `mock-kafka` behind these.
func WithCommand(command ...string) Option { return func(o *options) { o.command = command } }

// WithAudit fails a test if its cluster lost, duplicated or reordered records that it has acknowledged.
// What an unclean election or a truncation lost is no reason.
func WithAudit() Option {
	return func(o *options) { WithConfig("audit.enable", true)(o); o.isAudited = true }
}

// WithNewPorts moves the brokers to new ports before each test. Clients that a test did not close then
// reach no cluster of a later test.
func WithNewPorts() Option { return func(o *options) { o.isNewPorts = true } }

// Cluster is a running cluster. [Cluster.For] lends it to a test.
type Cluster struct {
	BootstrapServers string // HOST:PORT of every broker, with commas between
	Admin            *Admin

	options options
	process *exec.Cmd // nil if it was running before
	input   io.Closer
	log     *logTail
	ended   chan struct{} // closed when the process has ended
	lent    chan struct{} // has an element while a test has the cluster
	holder  atomic.Value  // the name of this test
}

// New starts a cluster, or finds the one that the environment names. The context limits the start.
//
// In tests use [Start]. New is for TestMain and for programs, which use the operations of Admin.
// The cluster ends with Close, and with the program.
func New(ctx context.Context, opts ...Option) (*Cluster, error) {
	c := &Cluster{log: &logTail{}, ended: make(chan struct{}), lent: make(chan struct{}, 1), options: settingsOf(opts)}
	c.holder.Store("")
	servers, url := os.Getenv("MOCK_KAFKA_BOOTSTRAP_SERVERS"), os.Getenv("MOCK_KAFKA_ADMIN_URL")
	switch {
	case servers != "" && url != "":
		c.BootstrapServers, c.Admin = servers, &Admin{URL: strings.TrimSuffix(url, "/"), Token: c.options.token}
		return c, c.checkBrokers(ctx, c.options.brokers)
	case servers != url: // one of them is empty
		return nil, errors.New("mock-kafka: set both MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL, or none")
	}
	command, err := c.options.serveCommand()
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx, command); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// checkBrokers refuses a running cluster with another number of brokers than the options have, if they do.
func (c *Cluster) checkBrokers(ctx context.Context, count int) error {
	brokers, err := c.Admin.ListBrokers(ctx)
	if err == nil && count > 0 && len(brokers) != count {
		err = fmt.Errorf("mock-kafka: the cluster at %s has %d brokers, and the test asks for %d",
			c.Admin.URL, len(brokers), count)
	}
	return err
}

func (c *Cluster) start(ctx context.Context, command []string) (err error) {
	lines := &printedLines{isComplete: make(chan struct{})}
	c.process = exec.Command(command[0], command[1:]...)
	c.process.Stdout, c.process.Stderr, c.process.WaitDelay = lines, c.log, stopTimeout
	// Nothing is written to it. It closes with this program, also if that is killed, and ends the cluster.
	if c.input, err = c.process.StdinPipe(); err != nil {
		return err
	}
	if err := c.process.Start(); err != nil {
		c.process = nil
		return fmt.Errorf("mock-kafka did not start: %w", err)
	}
	go func() { c.process.Wait(); close(c.ended) }()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	reason := ""
	select {
	case <-lines.isComplete:
		c.BootstrapServers = onThisHost(lines.values["bootstrap.servers"])
		c.Admin = &Admin{URL: onThisHost(lines.values["admin.url"]), Token: c.options.token}
		return nil
	case <-c.ended:
		reason = c.process.ProcessState.String()
	case <-ctx.Done():
		reason = ctx.Err().Error()
	}
	return fmt.Errorf("mock-kafka did not start: %s: %s\n%s", strings.Join(command, " "), reason, c.log)
}

// onThisHost returns the addresses at which this host reaches a container that listens on all of its own.
func onThisHost(addresses string) string {
	return strings.ReplaceAll(addresses, "0.0.0.0:", "127.0.0.1:")
}

// Seeds returns the addresses of the brokers, for kgo.SeedBrokers and the like.
func (c *Cluster) Seeds() []string { return strings.Split(c.BootstrapServers, ",") }

// Log returns the newest lines that the process of the cluster has logged: its warnings and errors.
func (c *Cluster) Log() string { return c.log.String() }

// Close stops the cluster, unless it was running before.
func (c *Cluster) Close() {
	if c.process == nil {
		return
	}
	c.input.Close()
	select {
	case <-c.ended:
	case <-time.After(stopTimeout):
		c.process.Process.Kill()
		<-c.ended
	}
}

func (c *Cluster) isRunning() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// printedLines reads KEY=VALUE lines until it has the URL of the admin port.
type printedLines struct {
	unread     []byte
	values     map[string]string
	isComplete chan struct{}
}

func (p *printedLines) Write(text []byte) (int, error) {
	for p.unread = append(p.unread, text...); ; {
		line, rest, isWhole := bytes.Cut(p.unread, []byte("\n"))
		if !isWhole || p.values["admin.url"] != "" {
			return len(text), nil
		}
		p.unread = rest
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), "=")
		if p.values == nil {
			p.values = map[string]string{}
		}
		if p.values[key] = value; key == "admin.url" {
			close(p.isComplete)
		}
	}
}

// logTail keeps the end of what is written to it.
type logTail struct {
	mutex sync.Mutex
	text  []byte
}

func (l *logTail) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.text = append(l.text, text...)
	l.text = l.text[max(0, len(l.text)-logBytesMax):]
	return len(text), nil
}

func (l *logTail) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return string(bytes.TrimSpace(l.text))
}
