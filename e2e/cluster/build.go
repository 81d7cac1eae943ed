package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Binaries are the programs that a cluster consists of.
type Binaries struct {
	APIServer string // kube-apiserver, built from e2e/servers/kubernetes
	Etcd      string // etcd, of the machine
}

const (
	e2eModule        = "github.com/ladder-cmp/ladder/e2e"
	kubernetesModule = "k8s.io/kubernetes"
	versionStamp     = "k8s.io/component-base/version"
)

// Build builds the kube-apiserver that e2e/servers/kubernetes pins and finds
// etcd. The first build takes some minutes; its result is kept in cacheDir, one
// file for each version, and used again. An empty cacheDir is the user's cache
// directory. It must be called from within the e2e module, as tests are.
func Build(ctx context.Context, cacheDir string) (Binaries, error) {
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		return Binaries{}, fmt.Errorf("etcd is not on PATH; install it with: apt-get install etcd-server")
	}
	if cacheDir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return Binaries{}, fmt.Errorf("finding a place for kube-apiserver: %w", err)
		}
		cacheDir = filepath.Join(user, "ladder-e2e")
	}
	apiserver, err := buildAPIServer(ctx, cacheDir)
	if err != nil {
		return Binaries{}, err
	}
	return Binaries{APIServer: apiserver, Etcd: etcd}, nil
}

func buildAPIServer(ctx context.Context, cacheDir string) (string, error) {
	module, err := goOutput(ctx, "list", "-m", "-f", "{{.Dir}}", e2eModule)
	if err != nil {
		return "", fmt.Errorf("finding the e2e module: %w", err)
	}
	server := filepath.Join(module, "servers", "kubernetes")
	version, err := goOutput(ctx, "-C", server, "list", "-m", "-f", "{{.Version}}", kubernetesModule)
	if err != nil {
		return "", fmt.Errorf("reading the version in %s: %w", server, err)
	}
	dir := filepath.Join(cacheDir, fmt.Sprintf("kube-apiserver-%s-%s-%s", version, runtime.GOOS, runtime.GOARCH))
	bin := filepath.Join(dir, "kube-apiserver")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making a place for kube-apiserver: %w", err)
	}

	// Test binaries of several packages run at once; one of them builds.
	lock := flock.New(filepath.Join(dir, "lock"))
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("waiting for another build of kube-apiserver: %w", err)
	}
	defer lock.Unlock()
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	fresh := bin + ".new"
	if _, err := goOutput(ctx, "-C", server, "build", "-trimpath", "-ldflags", stamp(version), "-o", fresh, kubernetesModule+"/cmd/kube-apiserver"); err != nil {
		return "", fmt.Errorf("building kube-apiserver %s: %w", version, err)
	}
	if err := os.Rename(fresh, bin); err != nil {
		return "", fmt.Errorf("keeping kube-apiserver %s: %w", version, err)
	}
	return bin, nil
}

// stamp gives the server its version; without it the server says v0.0.0, which
// kubectl and Argo CD refuse to parse.
func stamp(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	set := func(name, value string) string { return fmt.Sprintf(" -X %s.%s=%s", versionStamp, name, value) }
	return "-s -w" + set("gitVersion", version) + set("gitMajor", parts[0]) + set("gitMinor", parts[1])
}

func goOutput(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, lastLines(stderr.String(), 5))
	}
	return strings.TrimSpace(string(out)), nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
