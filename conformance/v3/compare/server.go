package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// socketDirEnv tells both sides where the sockets are.
const socketDirEnv = "ARGOCD_PLUGINSOCKFILEPATH"

// The release that every server renders, but where Applications differ.
const (
	appName      = "rel"
	appNamespace = "ns"
	kubeVersion  = "1.34.0"
)

// programs start servers.
type programs struct {
	cmp, helm string
	// sockets is a directory with a socket for each server, named after it.
	sockets string
}

// server is a plugin server that runs.
type server struct {
	name  string
	dir   string
	cmd   *exec.Cmd
	ended chan struct{}
	fate  error // set before ended is closed
	log   *os.File
}

// stock is Argo CD's own plugin server. Its plugin runs helm itself: a shell
// between the two, as most plugins have, would only make it slower.
func (p programs) stock(dir string) (*server, error) {
	return p.argocd("stock", dir, p.helm, "template", appName, ".", "--namespace", appNamespace, "--include-crds",
		"--kube-version", kubeVersion)
}

// constant is Argo CD's own plugin server, too, with a plugin that prints what
// was rendered before.
func (p programs) constant(dir string, answer []string) (*server, error) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "answer.yaml")
	if err := writeFile(dir, "answer.yaml", strings.Join(answer, "\n---\n")); err != nil {
		return nil, err
	}
	return p.argocd("constant", dir, cat, file)
}

func (p programs) argocd(name, dir string, command ...string) (*server, error) {
	plugin := map[string]any{
		"apiVersion": "argoproj.io/v1alpha1",
		"kind":       "ConfigManagementPlugin",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"generate": map[string]any{"command": command}},
	}
	text, err := json.Marshal(plugin)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin.yaml"), text, 0o600); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "--config-dir-path", dir, "--loglevel", "warn")
	cmd.Env = []string{
		roleEnv + "=" + stockRole, socketDirEnv + "=" + p.sockets,
		"HOME=" + dir, "TMPDIR=" + dir, "ARGOCD_CMP_WORKDIR=" + dir,
	}
	return p.start(name, dir, cmd)
}

// floor is the server that works for nothing.
func (p programs) floor(dir string, answer []string) (*server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "answer.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, p.socket("floor"), file)
	cmd.Env = []string{roleEnv + "=" + floorRole}
	return p.start("floor", dir, cmd)
}

// cold and warm are cmp serve.
func (p programs) cold(dir string) (*server, error) { return p.ours("cold", dir, "--cache-bytes", "0") }
func (p programs) warm(dir string) (*server, error) { return p.ours("warm", dir) }

func (p programs) ours(name, dir string, flags ...string) (*server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// Its socket has a name of its own.
	if err := os.Symlink(filepath.Join(dir, "ladder.sock"), p.socket(name)); err != nil {
		return nil, err
	}
	cmd := exec.Command(p.cmp, append([]string{"serve", "--plugin-dir", dir}, flags...)...)
	cmd.Env = []string{}
	return p.start(name, dir, cmd)
}

func (p programs) socket(name string) string { return filepath.Join(p.sockets, name+".sock") }

// start runs a server until it answers on its socket.
func (p programs) start(name, dir string, cmd *exec.Cmd) (*server, error) {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	// What a terminal sends to interrupt the measuring must not reach the
	// servers: they are ended in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, err
	}
	s := &server{name: name, dir: dir, cmd: cmd, ended: make(chan struct{}), log: log}
	go func() { s.fate = cmd.Wait(); close(s.ended) }()
	for timeout := time.After(30 * time.Second); ; {
		if conn, err := net.Dial("unix", p.socket(name)); err == nil {
			conn.Close()
			return s, nil
		}
		select {
		case <-s.ended:
			defer s.stop(p)
			return nil, s.explain(fmt.Errorf("it ended at once: %w", s.fate))
		case <-timeout:
			defer s.stop(p)
			return nil, s.explain(fmt.Errorf("it does not listen"))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// timeToEnd is how long a server may take to end when it is told to, before it
// is made to. argocd-cmp-server outlives the telling.
const timeToEnd = time.Second

// stop ends the server, removes what it wrote and frees its name.
func (s *server) stop(p programs) {
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(timeToEnd):
		s.cmd.Process.Kill()
		<-s.ended
	}
	s.log.Close()
	os.RemoveAll(s.dir)
	os.Remove(p.socket(s.name))
}

// explain adds the end of the server's log to an error.
func (s *server) explain(err error) error {
	const end = 2000
	text, _ := os.ReadFile(s.log.Name())
	return fmt.Errorf("%s: %w; its log ends in\n%s", s.name, err, text[max(0, len(text)-end):])
}
