package mockkafka

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
)

var errNoProgram = errors.New(`mock-kafka: there is no cluster, and no program that starts one. Looked for
- a running cluster in MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL
- the option WithCommand
- the path of a program in MOCK_KAFKA_COMMAND
- mock-kafka, uvx, docker and podman on the PATH
Install it with Python 3.11 or newer: pip install path/to/mock-kafka, or uv tool install path/to/mock-kafka`)

// serveCommand returns the command that starts a cluster, by the first program that is there.
func (o *options) serveCommand() ([]string, error) {
	program := o.command
	if path := os.Getenv("MOCK_KAFKA_COMMAND"); len(program) == 0 && path != "" {
		program = []string{path}
	}
	if len(program) == 0 && isOnPath("mock-kafka") {
		program = []string{"mock-kafka"}
	}
	if len(program) == 0 && isOnPath("uvx") {
		program = []string{"uvx", "mock-kafka==" + Version}
	}
	if len(program) > 0 {
		return o.withArguments(program, 0, 0), nil
	}
	for _, engine := range []string{"docker", "podman"} {
		if isOnPath(engine) {
			return o.containerCommand(engine)
		}
	}
	return nil, errNoProgram
}

func isOnPath(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

func (o *options) withArguments(program []string, port, adminPort int) []string {
	command := append([]string{}, program...)
	command = append(command, "serve", "--port", strconv.Itoa(port), "--admin-port", strconv.Itoa(adminPort),
		"--until-stdin-closes", "--log-level", "warning")
	if o.brokers > 0 {
		command = append(command, "--brokers", strconv.Itoa(o.brokers))
	}
	return append(command, o.config...)
}

// containerCommand maps each port to the same one of this host: what brokers advertise is right then.
func (o *options) containerCommand(engine string) ([]string, error) {
	image := os.Getenv("MOCK_KAFKA_IMAGE")
	if image == "" {
		image = "mock-kafka"
	}
	first, err := freePorts(max(o.brokers, 1) + 1)
	if err != nil {
		return nil, err
	}
	program := []string{engine, "run", "--rm", "--interactive"}
	for port := first; port <= first+max(o.brokers, 1); port++ {
		program = append(program, "--publish", fmt.Sprintf("127.0.0.1:%d:%d", port, port))
	}
	return o.withArguments(append(program, image), first+1, first), nil
}

// freePorts returns the first of `count` ports in a row.
func freePorts(count int) (first int, err error) {
	for range 100 {
		first, err = 0, nil
		var listeners []net.Listener
		for i := 0; i < count && err == nil; i++ {
			var listener net.Listener
			port := 0
			if i > 0 {
				port = first + i
			}
			if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
				listeners = append(listeners, listener)
				first = listeners[0].Addr().(*net.TCPAddr).Port
			}
		}
		for _, listener := range listeners {
			listener.Close()
		}
		if err == nil {
			return first, nil
		}
	}
	return 0, fmt.Errorf("mock-kafka: no %d free ports in a row: %w", count, err)
}
