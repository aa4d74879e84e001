package mockkafka

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Cluster is a running cluster. [Cluster.For] lends it to a test.
type Cluster struct {
	BootstrapServers string // HOST:PORT of every broker, with commas between
	Admin            *Admin

	options options
	running context.Context // ends with the process
	stop    func()          // has no effect if it was running before
	log     logTail
	lending *lending
}

// lending says which test has a cluster.
type lending struct {
	place  chan struct{} // has an element while a test has the cluster
	holder atomic.Value  // the name of this test
}

// ofEnvironment is the lending of the cluster that the environment names: all tests share it.
var ofEnvironment = lending{place: make(chan struct{}, 1)}

// New starts a cluster, or finds the one that the environment names. The context limits the start.
//
// In tests use [Start]. New is for TestMain and for programs, which use the operations of Admin.
// The cluster ends with Close, and with the program.
func New(ctx context.Context, opts ...Option) (*Cluster, error) {
	c := &Cluster{options: optionsOf(opts), running: context.Background(), stop: func() {}, lending: &ofEnvironment}
	servers, url := os.Getenv("MOCK_KAFKA_BOOTSTRAP_SERVERS"), os.Getenv("MOCK_KAFKA_ADMIN_URL")
	if servers == "" && url == "" {
		c.lending = &lending{place: make(chan struct{}, 1)}
		return c, c.start(ctx)
	}
	if servers == "" || url == "" {
		return nil, errors.New("mock-kafka: set both MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL, or none")
	}
	c.BootstrapServers, c.Admin = servers, &Admin{URL: strings.TrimSuffix(url, "/"), Token: c.options.config["broker.admin.token"]}
	brokers, err := c.Admin.ListBrokers(ctx)
	if count := c.options.brokers; err == nil && count > 0 && len(brokers) != count {
		err = fmt.Errorf("mock-kafka: the cluster at %s has %d brokers, and the test asks for %d", url, len(brokers), count)
	}
	return c, err
}

func (c *Cluster) start(ctx context.Context) error {
	command, err := c.options.serveCommand()
	if err != nil {
		return err
	}
	stopping, stop := context.WithCancel(context.Background())
	process := exec.CommandContext(stopping, command[0], command[1:]...)
	// These variables are for brokers that are started by hand.
	process.Env = slices.DeleteFunc(os.Environ(), func(name string) bool { return strings.HasPrefix(name, "MOCK_KAFKA_") })
	output, writer := io.Pipe()
	process.Stdout, process.Stderr, process.WaitDelay = writer, &c.log, 5*time.Second
	// Nothing is written to it. It closes with this program, also if that is killed, and ends the cluster.
	input, err := process.StdinPipe()
	process.Cancel = func() error { return input.Close() }
	if err = errors.Join(err, process.Start()); err != nil {
		stop()
		return fmt.Errorf("mock-kafka did not start: %w", err)
	}
	running, end := context.WithCancel(context.Background())
	c.running, c.stop = running, func() { stop(); <-running.Done() }
	go func() { process.Wait(); writer.Close(); end() }()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, c.stop)()
	printed := map[string]string{}
	for lines := bufio.NewScanner(output); printed["admin.url"] == "" && lines.Scan(); {
		// A container listens on all of its addresses.
		key, value, _ := strings.Cut(strings.ReplaceAll(lines.Text(), "0.0.0.0:", "127.0.0.1:"), "=")
		printed[key] = value
	}
	go io.Copy(io.Discard, output)
	c.BootstrapServers, c.Admin = printed["bootstrap.servers"], &Admin{printed["admin.url"], c.options.config["broker.admin.token"]}
	if c.Admin.URL != "" {
		return nil
	}
	c.stop()
	reason := cmp.Or(ctx.Err(), errors.New(process.ProcessState.String()))
	return fmt.Errorf("mock-kafka did not start: %s: %w\n%s", strings.Join(command, " "), reason, c.Log())
}

// Seeds returns the addresses of the brokers, for kgo.SeedBrokers and the like.
func (c *Cluster) Seeds() []string { return strings.Split(c.BootstrapServers, ",") }

// Close stops the cluster, unless it was running before.
func (c *Cluster) Close() { c.stop() }

// Log returns the newest lines that the process of the cluster has logged: its warnings and errors.
func (c *Cluster) Log() string {
	c.log.Lock()
	defer c.log.Unlock()
	return strings.TrimSpace(string(c.log.text))
}

// logTail keeps the last 64 KiB of what is written to it.
type logTail struct {
	sync.Mutex
	text []byte
}

func (l *logTail) Write(text []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	l.text = append(l.text, text...)
	l.text = l.text[max(0, len(l.text)-64<<10):]
	return len(text), nil
}

func optionsOf(opts []Option) options {
	o := options{config: map[string]string{}, command: wordsOf(os.Getenv("MOCK_KAFKA_COMMAND"))}
	for _, option := range opts {
		option(&o)
	}
	return o
}

// serveCommand returns the command that starts a cluster, by the first program that is there.
func (o *options) serveCommand() ([]string, error) {
	if len(o.command) > 0 {
		return o.withArguments(o.command, 0, 0), nil
	}
	for _, program := range [][]string{{"mock-kafka"}, {"uvx", "mock-kafka==" + Version}, {"docker"}, {"podman"}} {
		if _, err := exec.LookPath(program[0]); err != nil {
			continue
		}
		if program[0] == "docker" || program[0] == "podman" {
			return o.containerCommand(program[0])
		}
		return o.withArguments(program, 0, 0), nil
	}
	return nil, errors.New("mock-kafka: " + noProgram)
}

// wordsOf splits a command as a shell does: at spaces outside of quotes.
func wordsOf(command string) []string {
	words := regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`).FindAllString(command, -1)
	for i := range words {
		words[i] = regexp.MustCompile(`"([^"]*)"|'([^']*)'`).ReplaceAllString(words[i], "$1$2")
	}
	return words
}

func (o *options) withArguments(program []string, port, adminPort int) []string {
	command := slices.Concat(program, []string{"serve", "--port", fmt.Sprint(port), "--admin-port", fmt.Sprint(adminPort),
		"--until-stdin-closes", "--log-level", "warning"})
	return append(command, o.arguments()...)
}

// containerCommand maps each port to the same one of this host: what brokers advertise is right then.
func (o *options) containerCommand(engine string) ([]string, error) {
	count := max(o.brokers, 1) + 1
	first, err := freePorts(count, 100)
	ports := fmt.Sprintf("%d-%d", first, first+count-1)
	program := []string{engine, "run", "--rm", "--interactive", "--publish", "127.0.0.1:" + ports + ":" + ports}
	program = append(program, cmp.Or(os.Getenv("MOCK_KAFKA_IMAGE"), "mock-kafka"))
	return o.withArguments(program, first+1, first), err
}

// freePorts returns the first of `count` free ports in a row.
func freePorts(count, triesMax int) (first int, err error) {
	for i := range count {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+i))
		if err != nil && triesMax > 1 {
			return freePorts(count, triesMax-1)
		} else if err != nil {
			return 0, fmt.Errorf("mock-kafka: no %d free ports in a row: %w", count, err)
		}
		defer listener.Close()
		first = cmp.Or(first, listener.Addr().(*net.TCPAddr).Port)
	}
	return first, nil
}
