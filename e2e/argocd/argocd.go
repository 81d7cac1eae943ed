package argocd

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ladder-cmp/ladder/e2e/program"
)

// Namespace is where Argo CD and its Applications live.
const Namespace = "argocd"

// Server is the cluster that Argo CD deploys to, which is the one it lives in.
type Server struct {
	Config                 *rest.Config
	Kubeconfig, URL, Token string
}

// Options configure Argo CD. The zero value means its own defaults.
type Options struct {
	// WaveDelay is how long Argo CD sleeps between waves; nil means its default
	// of two seconds.
	WaveDelay *time.Duration
	// Resync is how often Argo CD compares an Application without an event; zero
	// means its default of two to three minutes. No Application tracks a CRD, so
	// if Argo CD learns late that a CRD is established, only this ends the wait.
	Resync time.Duration
	// Settings are laid over argocd-cm.
	Settings map[string]string
}

// ArgoCD is a running Argo CD.
type ArgoCD struct {
	// Dir contains its logs and everything that it writes.
	Dir string

	bin    Binaries
	server Server
	kube   *Kube
	opt    Options
	repo   string // address of the repo-server
	redis  string
	procs  []*program.Process
	// plugin and controller are those of procs that can be restarted.
	plugin, controller *program.Process
}

// Start runs Argo CD against a cluster and returns when it serves. The name of dir
// should be short, because it contains sockets, whose paths are limited.
func Start(ctx context.Context, server Server, dir string, bin Binaries, opt Options) (_ *ArgoCD, err error) {
	kube, err := NewKube(server.Config)
	if err != nil {
		return nil, err
	}
	a := &ArgoCD{Dir: dir, bin: bin, server: server, kube: kube, opt: opt}
	if err := a.install(ctx); err != nil {
		return nil, fmt.Errorf("install Argo CD: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("it did not start within a minute"))
	defer cancel()
	startPlugin := func(ctx context.Context) error { return a.startPlugin(ctx, "") }
	for _, start := range []func(context.Context) error{a.startRedis, startPlugin, a.startRepoServer, a.startController,
		a.startApplicationSets} {
		if err := start(ctx); err != nil {
			a.Stop()
			return nil, err
		}
	}
	return a, nil
}

// Stop ends all processes, the last one first.
func (a *ArgoCD) Stop() {
	for i := len(a.procs) - 1; i >= 0; i-- {
		_ = a.procs[i].Stop() // its end is all that matters
	}
	a.procs = nil
}

// Kube is the client of the cluster.
func (a *ArgoCD) Kube() *Kube { return a.kube }

// run starts a process and waits for it.
func (a *ArgoCD) run(ctx context.Context, path, name string, env []string, ready func() error, args ...string) error {
	p, err := start(a.Dir, path, name, append(a.environment(), env...), args...)
	if err != nil {
		return err
	}
	a.procs = append(a.procs, p)
	return p.Await(ctx, ready)
}

// last is the process that was started last.
func (a *ArgoCD) last() *program.Process {
	if len(a.procs) == 0 {
		return nil
	}
	return a.procs[len(a.procs)-1]
}

// end stops one process.
func (a *ArgoCD) end(p *program.Process) error {
	a.procs = slices.DeleteFunc(a.procs, func(other *program.Process) bool { return other == p })
	return p.Stop()
}

// environment is the environment of every process. It contains nothing of the user's,
// so that git and kubectl settings have no effect.
func (a *ArgoCD) environment() []string {
	return []string{
		"PATH=" + filepath.Dir(a.bin.ArgoCD) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + a.path("home"),
		"TMPDIR=" + a.path("tmp"),
		"ARGOCD_PLUGINSOCKFILEPATH=" + a.path("plugins"),
		"GOGC=400", // a quarter of Argo CD's CPU time would go to the garbage collector
	}
}

// path names a folder in the directory of the run, which is made if need be.
func (a *ArgoCD) path(name string) string {
	path := filepath.Join(a.Dir, name)
	_ = os.MkdirAll(path, 0o755) // whoever writes there says it better
	return path
}

func (a *ArgoCD) startRedis(ctx context.Context) error {
	ports, err := program.FreePorts(1)
	if err != nil {
		return err
	}
	a.redis = loopback(ports[0])
	return a.run(ctx, a.bin.Redis, "redis-server", nil, listening(a.redis),
		"--bind", "127.0.0.1", "--port", strconv.Itoa(ports[0]), "--save", "", "--appendonly", "no", "--dir", a.path("redis"))
}

// startPlugin starts the plugin server, with the seed in a file unless that is empty.
func (a *ArgoCD) startPlugin(ctx context.Context, seed string) error {
	err := a.servePlugin(ctx, "plugins", seed)
	a.plugin = a.last()
	return err
}

// servePlugin starts a plugin server with its socket in a folder.
func (a *ArgoCD) servePlugin(ctx context.Context, dir, seed string) error {
	socket := filepath.Join(a.path(dir), "ladder.sock")
	env := []string{"ARGOCD_PLUGINSOCKFILEPATH=" + a.path(dir), "LADDER_SEED_FILE=" + seed}
	return a.run(ctx, a.bin.Cmp, "cmp", env, listeningAt(socket), "serve")
}

func (a *ArgoCD) startRepoServer(ctx context.Context) error {
	var err error
	a.repo, err = a.serveRepositories(ctx, "ask.sock")
	return err
}

// serveRepositories starts a repo-server and returns its address. If a variable is
// set twice, the last value applies.
func (a *ArgoCD) serveRepositories(ctx context.Context, ask string, vars ...string) (address string, err error) {
	ports, err := program.FreePorts(2)
	if err != nil {
		return "", err
	}
	address = loopback(ports[0])
	env := append([]string{
		"ARGOCD_GPG_ENABLED=false",
		"ARGOCD_TLS_DATA_PATH=" + a.path("tls"),
		"ARGOCD_SSH_DATA_PATH=" + a.path("ssh"),
		"ARGOCD_ASK_PASS_SOCK=" + filepath.Join(a.Dir, ask),
	}, vars...)
	return address, a.run(ctx, a.bin.ArgoCD, "argocd-repo-server", env, listening(address),
		"--disable-tls", "--client-ca-path", "",
		"--address", "127.0.0.1", "--port", strconv.Itoa(ports[0]),
		"--metrics-address", "127.0.0.1", "--metrics-port", strconv.Itoa(ports[1]),
		"--redis", a.redis)
}

func (a *ArgoCD) startController(ctx context.Context) error {
	ports, err := program.FreePorts(1)
	if err != nil {
		return err
	}
	var env []string
	if a.opt.WaveDelay != nil {
		env = append(env, "ARGOCD_SYNC_WAVE_DELAY="+strconv.Itoa(int(a.opt.WaveDelay.Seconds())))
	}
	args := []string{
		"--kubeconfig", a.server.Kubeconfig, "--namespace", Namespace,
		"--repo-server", a.repo, "--repo-server-plaintext",
		"--redis", a.redis,
		"--metrics-port", strconv.Itoa(ports[0]),
		// The health of each resource is read from the Application.
		"--persist-resource-health",
	}
	if a.opt.Resync > 0 {
		args = append(args, "--app-resync", strconv.Itoa(int(a.opt.Resync.Seconds())), "--app-resync-jitter", "0")
	}
	health := fmt.Sprintf("http://127.0.0.1:%d/healthz", ports[0])
	err = a.run(ctx, a.bin.ArgoCD, "argocd-application-controller", env, answering(ctx, health), args...)
	a.controller = a.last()
	return err
}

func (a *ArgoCD) startApplicationSets(ctx context.Context) error {
	ports, err := program.FreePorts(3)
	if err != nil {
		return err
	}
	env := []string{"KUBECONFIG=" + a.server.Kubeconfig}
	return a.run(ctx, a.bin.ArgoCD, "argocd-applicationset-controller", env, listening(loopback(ports[1])),
		"--kubeconfig", a.server.Kubeconfig, "--namespace", Namespace,
		"--argocd-repo-server", a.repo, "--repo-server-plaintext",
		"--metrics-addr", loopback(ports[0]), "--probe-addr", loopback(ports[1]), "--webhook-addr", loopback(ports[2]),
		"--enable-progressive-syncs")
}

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// answering returns a condition that is true when a server responds with OK.
func answering(ctx context.Context, url string) func() error {
	return func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, resp.Status)
		}
		return nil
	}
}
