// Package argocd runs the real Argo CD beside a real API server: the
// application-controller, the repo-server with "cmp serve" on its plugin
// socket, and the applicationset-controller, as processes on loopback.
//
// It builds them from the module that the conformance tests pin, writes the
// settings that Argo CD expects to find in its namespace, keeps git
// repositories for Applications, starts syncs and follows them to their end.
// What it reports of a sync is what Argo CD says in the Application.
package argocd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ladder-cmp/ladder/e2e/program"
)

// Binaries are the programs that a run needs.
type Binaries struct {
	// ArgoCD is one program; the name under which it runs selects what it does.
	ArgoCD string
	// Module is the folder of Argo CD's source, for its definitions and
	// default settings.
	Module string
	// Version is that of the module.
	Version string
	// Cmp is the plugin under test.
	Cmp string
	// Redis and Git come from the machine.
	Redis, Git string
}

const argoModule = "github.com/argoproj/argo-cd/v3"

// Build builds Argo CD, which takes minutes and is kept in cacheDir under its
// version, and the plugin from the repository in root, which is built each time.
// Errors name what the machine lacks.
func Build(ctx context.Context, root, cacheDir string) (Binaries, error) {
	var b Binaries
	if err := program.Find(
		program.OfMachine{Path: &b.Redis, Name: "redis-server", Package: "redis-server"},
		program.OfMachine{Path: &b.Git, Name: "git", Package: "git"},
	); err != nil {
		return b, err
	}
	conformance := filepath.Join(root, "conformance", "v3")
	about, err := run(ctx, conformance, "go", "mod", "download", "-json", argoModule)
	if err != nil {
		return b, err
	}
	var module struct{ Version, Dir string }
	if err := json.Unmarshal([]byte(about), &module); err != nil {
		return b, fmt.Errorf("downloading %s: %w", argoModule, err)
	}
	b.Version, b.Module = module.Version, module.Dir
	// With the flags of the conformance tests, which have compiled most of it.
	if b.ArgoCD, err = program.Build(ctx, program.Source{
		Name: "argocd", Dir: "../conformance/v3", Module: argoModule, Package: argoModule + "/cmd",
		Flags: func(version string) []string {
			return []string{"-ldflags", "-X " + argoModule + "/common.version=" + strings.TrimPrefix(version, "v")}
		},
	}, cacheDir); err != nil {
		return b, err
	}
	b.Cmp = filepath.Join(cacheDir, "cmp")
	if _, err := run(ctx, root, "go", "build", "-o", b.Cmp, "./cmd/cmp"); err != nil {
		return b, err
	}
	return b, b.gitWrapper(filepath.Dir(b.ArgoCD))
}

// gitWrapper puts the script beside the program by which the repo-server asks
// git for signatures: it looks for it on PATH, and in a module nothing is
// executable.
func (b Binaries) gitWrapper(dir string) error {
	const name = "git-verify-wrapper.sh"
	text, err := os.ReadFile(filepath.Join(b.Module, "hack", name))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), text, 0o755)
}

// run runs a program and returns its output; the error contains what the program
// printed.
func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&stderr)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s in %s: %w: %s", cmd, dir, err, strings.TrimSpace(stderr.String()))
	}
	return out.String(), nil
}
