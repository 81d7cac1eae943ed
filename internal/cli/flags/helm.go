package flags

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// helmFiles are Helm's configuration files for repositories and registries
// (helmpath and cli.New of Helm).
type helmFiles struct{ repositories, registry string }

func helmConfig() helmFiles {
	dir := os.Getenv("HELM_CONFIG_HOME")
	if dir == "" {
		if base, err := os.UserConfigDir(); err == nil {
			dir = filepath.Join(base, "helm")
		}
	}
	files := helmFiles{os.Getenv("HELM_REPOSITORY_CONFIG"), os.Getenv("HELM_REGISTRY_CONFIG")}
	if dir != "" && files.repositories == "" {
		files.repositories = filepath.Join(dir, "repositories.yaml")
	}
	if dir != "" && files.registry == "" {
		files.registry = filepath.Join(dir, "registry", "config.json")
	}
	return helmFiles{ifThere(files.repositories), ifThere(files.registry)}
}

func dockerConfig() string {
	dir := os.Getenv("DOCKER_CONFIG")
	if home, err := os.UserHomeDir(); dir == "" && err == nil {
		dir = filepath.Join(home, ".docker")
	}
	return ifThere(filepath.Join(dir, "config.json"))
}

// ifThere returns a file if it exists, otherwise "".
func ifThere(file string) string {
	if info, err := os.Stat(file); err != nil || info.IsDir() {
		return ""
	}
	return file
}

// namedRepositories resolves the names that "helm repo add" gave to chart
// repositories: @name and alias:name.
type namedRepositories struct {
	remote.Fetcher
	file string
}

func (n namedRepositories) Fetch(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	ref, err := n.resolve(ref)
	if err != nil {
		return remote.Content{}, err
	}
	return n.Fetcher.Fetch(ctx, ref)
}

// resolve replaces the name of a repository by its URL.
func (n namedRepositories) resolve(ref remote.Ref) (remote.Ref, error) {
	name, named := strings.CutPrefix(ref.URL, "@")
	if !named {
		name, named = strings.CutPrefix(ref.URL, "alias:")
	}
	if named {
		url, err := n.address(name)
		if err != nil {
			return ref, err
		}
		ref.URL = url
	}
	return ref, nil
}

func (n namedRepositories) address(name string) (string, error) {
	unknown := finding.Finding{Severity: finding.Error, Rule: finding.BadSettings,
		Message: "the repository is called " + name + " there, but Helm has no repository of that name",
		Remedy:  "write its address, or run helm repo add " + name + " ADDRESS"}
	var list struct {
		Repositories []struct{ Name, URL string }
	}
	text, err := os.ReadFile(n.file)
	if errors.Is(err, fs.ErrNotExist) || n.file == "" {
		return "", unknown
	}
	if err == nil {
		err = yaml.Unmarshal(text, &list)
	}
	if err != nil {
		return "", finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, File: n.file,
			Message: "cannot be read", Remedy: "correct the file, or write the address of " + name}
	}
	for _, r := range list.Repositories {
		if r.Name == name {
			return r.URL, nil
		}
	}
	return "", unknown
}

// WithNames returns a Fetcher that resolves names.
func WithNames(from remote.Fetcher) remote.Fetcher {
	return namedRepositories{from, helmConfig().repositories}
}

// ResolveName replaces the name of a repository by its URL in Helm's configuration.
func ResolveName(ref remote.Ref) (remote.Ref, error) {
	return namedRepositories{file: helmConfig().repositories}.resolve(ref)
}
