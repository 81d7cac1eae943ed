package fetch

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// attempts are what a process that fetches is refused, and what it needs.
func attempts(dir string) map[string]func() error {
	reads := func(path string) func() error {
		return func() error { _, err := os.ReadFile(path); return err }
	}
	return map[string]func() error{
		"read a file":                reads(filepath.Join(dir, "secret")),
		"read passwd":                reads("/etc/passwd"),
		"environment of the server":  reads(fmt.Sprintf("/proc/%d/environ", os.Getppid())),
		"list a directory":           func() error { _, err := os.ReadDir(dir); return err },
		"write a file":               func() error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o600) },
		"remove a file":              func() error { return os.Remove(filepath.Join(dir, "old")) },
		"run a program":              func() error { return exec.Command("/bin/true").Run() },
		"run itself":                 func() error { return exec.Command("/proc/self/exe", "-test.run=^$").Run() },
		"signal the server":          func() error { return syscall.Kill(os.Getppid(), syscall.SIGURG) },
		"connect to a Unix socket":   func() error { return dials("unix", "@"+dir) },
		"resolve a name":             func() error { _, err := net.LookupHost("localhost"); return err },
		"connect to another machine": func() error { return dials("tcp", os.Getenv("LISTENER")) },
	}
}

func dials(network, address string) error {
	conn, err := net.Dial(network, address)
	if err == nil {
		conn.Close()
	}
	return err
}

// connectToAttempts stands in for a host that answers with what worked, at the moment
// when something comes from outside.
func connectToAttempts(dir string) func(context.Context, *net.Dialer, string, string) (net.Conn, error) {
	return func(context.Context, *net.Dialer, string, string) (net.Conn, error) {
		worked := tryAll(dir)
		here, there := net.Pipe()
		go func() {
			if _, err := http.ReadRequest(bufio.NewReader(there)); err == nil {
				fmt.Fprintf(there, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(worked), worked)
			}
		}()
		return here, nil
	}
}

func tryAll(dir string) []byte {
	worked := map[string]bool{}
	for name, try := range attempts(dir) {
		worked[name] = try() == nil
	}
	text, err := json.Marshal(worked)
	if err != nil {
		return []byte(err.Error())
	}
	return text
}

// TestProcessThatTries has a process that fetches try to reach more of the machine than
// the network. Everything works without the sandbox, but for what nothing lets it do.
func TestProcessThatTries(t *testing.T) {
	n, dir := newInternet(t), t.TempDir()
	write(t, dir+"/secret", "secret")
	write(t, dir+"/old", "old")
	abstract, err := net.Listen("unix", "@"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	config := Config{Allow: []string{"http://tries.example.com"}, PlainHTTP: []string{"tries.example.com"}, Limits: Limits{Time: time.Minute}}
	n.apart(&config)
	process := config.Process
	config.Process = func() *exec.Cmd {
		cmd := process()
		cmd.Env = append(cmd.Env, processTries+"="+dir, "LISTENER="+listener.Addr().String())
		return cmd
	}
	var worked map[string]bool
	if err := json.Unmarshal(get(t, n.fetcher(config), fileRef("http://tries.example.com/a")).Data, &worked); err != nil {
		t.Fatal(err)
	}
	needed := map[string]bool{"resolve a name": true, "connect to another machine": true}
	for name := range attempts(dir) {
		if worked[name] != needed[name] {
			t.Errorf("%s: %t", name, worked[name])
		}
	}
	t.Setenv("LISTENER", listener.Addr().String())
	for name, try := range attempts(dir) {
		if err := try(); err != nil {
			t.Errorf("%s does not work without the sandbox, either: %v", name, err)
		}
	}
}
