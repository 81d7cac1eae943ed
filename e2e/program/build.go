// Package program builds and runs the programs that the end-to-end suites consist
// of: servers from Go modules, kept between runs, and programs of the machine.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// OfMachine is a program that the machine must have.
type OfMachine struct {
	Path    *string // where it was found
	Name    string  // on PATH, or the absolute path of a file
	Package string  // Debian's package that holds it
}

// Find finds programs of the machine. The error names all that are missing, and how
// they are installed.
func Find(needs ...OfMachine) error {
	var faults []error
	for _, need := range needs {
		found, err := exec.LookPath(need.Name)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s is not on PATH; fix: apt-get install %s", need.Name, need.Package))
		}
		*need.Path = found
	}
	return errors.Join(faults...)
}

// Source is a program to build.
type Source struct {
	Name    string // of the program; the last part of Package if empty
	Dir     string // of the module that pins the version, relative to the e2e module
	Module  string // that holds the program
	Package string // of the program
	// Flags returns flags of go build for a version of the module.
	Flags func(version string) []string
	// Static programs are linked without any library of the machine, to run in images
	// and namespaces.
	Static bool
}

// Cache is where programs are kept if nobody says otherwise.
func Cache() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a directory for built programs: %w", err)
	}
	return filepath.Join(user, "ladder-e2e"), nil
}

// Build builds a program for this machine and keeps it in
// cacheDir under its version; the next call returns what is there. The first build
// of a server takes minutes. It must be called from within the e2e module, as tests
// are.
func Build(ctx context.Context, s Source, cacheDir string) (string, error) {
	name := cmp.Or(s.Name, filepath.Base(s.Package))
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	module := filepath.Join(root, s.Dir)
	version, err := goOutput(ctx, "-C", module, "list", "-m", "-f", "{{.Version}}", s.Module)
	if err != nil {
		return "", fmt.Errorf("reading the version of %s in %s: %w", s.Module, s.Dir, err)
	}
	dir := filepath.Join(cacheDir, fmt.Sprintf("%s-%s-%s-%s", name, version, runtime.GOOS, runtime.GOARCH))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making a directory for %s: %w", name, err)
	}
	// Test binaries of several packages run at once; one of them builds.
	lock := flock.New(filepath.Join(dir, "lock"))
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("waiting for another build of %s: %w", name, err)
	}
	defer lock.Unlock()
	bin := filepath.Join(dir, name)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	fmt.Fprintf(os.Stderr, "building %s %s, which takes some minutes the first time\n", name, version)
	args := []string{"-C", module, "build", "-o", bin + ".new"}
	if s.Static {
		args = append(args, "-trimpath")
	}
	if s.Flags != nil {
		args = append(args, s.Flags(version)...)
	}
	if _, err := goCommand(ctx, s.Static, append(args, s.Package)...); err != nil {
		return "", fmt.Errorf("building %s %s: %w", name, version, err)
	}
	return bin, os.Rename(bin+".new", bin)
}

// Root is the directory of the e2e module. It must be called from within it.
func Root(ctx context.Context) (string, error) {
	root, err := goOutput(ctx, "list", "-m", "-f", "{{.Dir}}", "github.com/ladder-cmp/ladder/e2e")
	if err != nil {
		return "", fmt.Errorf("finding the e2e module: %w", err)
	}
	return root, nil
}

// ModuleDir is where the files of a module are, at the version that the module in dir,
// relative to the e2e module, pins. It downloads them if they are not there.
func ModuleDir(ctx context.Context, dir, module string) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	if _, err := goOutput(ctx, "-C", filepath.Join(root, dir), "mod", "download", module); err != nil {
		return "", fmt.Errorf("downloading %s of %s: %w", module, dir, err)
	}
	found, err := goOutput(ctx, "-C", filepath.Join(root, dir), "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", fmt.Errorf("finding the files of %s of %s: %w", module, dir, err)
	}
	return found, nil
}

// BuildOwn builds a program of the e2e module, anew each time.
func BuildOwn(ctx context.Context, pkg, cacheDir string) (string, error) {
	bin := filepath.Join(cacheDir, filepath.Base(pkg))
	// Another test binary may be running what is there.
	next := fmt.Sprintf("%s.%d", bin, os.Getpid())
	if _, err := goCommand(ctx, true, "build", "-trimpath", "-o", next, "github.com/ladder-cmp/ladder/e2e/"+pkg); err != nil {
		return "", err
	}
	return bin, os.Rename(next, bin)
}

// Kubernetes is a program of Kubernetes, from the version that servers/kubernetes
// pins.
func Kubernetes(name string) Source {
	const module = "k8s.io/kubernetes"
	return Source{Dir: "servers/kubernetes", Module: module, Package: module + "/cmd/" + name, Static: true,
		Flags: func(version string) []string {
			// Without a version the server says v0.0.0, which kubectl and Argo CD refuse.
			set := func(name, value string) string { return " -X k8s.io/component-base/version." + name + "=" + value }
			parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
			return []string{"-ldflags", "-s -w" + set("gitVersion", version) + set("gitMajor", parts[0]) + set("gitMinor", parts[1])}
		}}
}

func goOutput(ctx context.Context, args ...string) (string, error) {
	return goCommand(ctx, false, args...)
}

func goCommand(ctx context.Context, static bool, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	if static {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	}
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
