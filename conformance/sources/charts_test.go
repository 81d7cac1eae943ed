package sources

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/cli"
	helmregistry "helm.sh/helm/v4/pkg/registry"

	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// versions are those of the charts, and ranges what is asked for.
var (
	versions = []string{"0.9.0", "1.0.0", "1.2.0", "1.2.3", "1.10.0", "1.11.0-rc.1", "2.0.0+build.7", "2.1.0"}
	ranges   = []string{"", "*", "1.2.3", "^1", "~1.2", "1.x", ">=1.0.0 <1.10.0", ">1.10.0-0 <2", "2.0.0+build.7", "<1 || >=2.1", "~2.0"}
)

// helmPull is what "helm pull" gets.
func helmPull(t *testing.T, name, url, version string, s *server) ([]byte, string, error) {
	t.Helper()
	dir := t.TempDir()
	client, err := helmregistry.NewClient(helmregistry.ClientOptHTTPClient(trusted(s)), helmregistry.ClientOptBasicAuth(user, password),
		helmregistry.ClientOptWriter(io.Discard), helmregistry.ClientOptCredentialsFile(filepath.Join(dir, "registry.json")))
	if err != nil {
		t.Fatal(err)
	}
	pull := action.NewPull(action.WithConfig(&action.Configuration{RegistryClient: client}))
	pull.Settings = cli.New()
	pull.Settings.RepositoryCache, pull.Settings.ContentCache = filepath.Join(dir, "cache"), filepath.Join(dir, "content")
	pull.Settings.RepositoryConfig = filepath.Join(dir, "repositories.yaml")
	pull.Username, pull.Password, pull.CaFile, pull.Version, pull.DestDir = user, password, s.caFile, version, dir
	if strings.HasPrefix(url, "oci://") {
		name = url + "/" + name
	} else {
		pull.RepoURL = url
	}
	if _, err := pull.Run(name); err != nil {
		return nil, "", err
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		t.Fatalf("helm pull left %v", found)
	}
	data, err := os.ReadFile(found[0])
	return data, strings.TrimSuffix(strings.TrimPrefix(path.Base(found[0]), "app-"), ".tgz"), err
}

// sameAsHelm compares what is fetched with what Helm pulls, range by range.
func sameAsHelm(t *testing.T, f *fetch.Fetcher, url string, s *server) {
	t.Helper()
	for _, requested := range ranges {
		want, version, err := helmPull(t, "app", url, requested, s)
		if err != nil {
			t.Errorf("helm pull --version %q: %v", requested, err)
			continue
		}
		got := get(t, f, remote.Ref{Kind: remote.Chart, URL: url, Chart: "app", Version: requested})
		if !bytes.Equal(got.Data, want) || got.Version != version {
			t.Errorf("%q: version %s, and Helm gets %s", requested, got.Version, version)
		}
	}
	for _, requested := range []string{"^7", "9.9.9"} {
		if _, _, err := helmPull(t, "app", url, requested, s); err == nil {
			t.Errorf("helm pull --version %q gets something", requested)
		}
		if _, err := f.Fetch(t.Context(), remote.Ref{Kind: remote.Chart, URL: url, Chart: "app", Version: requested}); err == nil ||
			!strings.Contains(err.Error(), "not found") && !strings.Contains(err.Error(), "no version of app that fits") {
			t.Errorf("%q: %v", requested, err)
		}
	}
}

func TestChartRepository(t *testing.T) {
	dir := packedCharts(t, "app", versions...)
	s := chartRepository(t, dir)
	url := s.URL + "/charts"
	sameAsHelm(t, fetcher(t, trusting(t, s)), url, s)

	indexCharts(t, dir, url)
	sameAsHelm(t, fetcher(t, trusting(t, s)), url, s)

	// With Helm's own file of repositories.
	config := trusting(t, s)
	file := filepath.Join(t.TempDir(), "repositories.yaml")
	write(t, file, "repositories: [{name: charts, url: '"+url+"', username: "+user+", password: "+password+", caFile: '"+s.caFile+"'}]\n")
	config.Credentials = fetch.Credentials{HelmRepositories: file}
	sameAsHelm(t, fetcher(t, config), url, s)

	ref := remote.Ref{Kind: remote.Chart, URL: url, Chart: "app", Version: "1.2.3"}
	config.Credentials = fetch.Credentials{}
	refuse(t, fetcher(t, config), ref, "is signed by an unknown authority")
	config.CAFile = s.caFile
	refuse(t, fetcher(t, config), ref, "refuses access (401); fix: mount a name and a password")
}

// push pushes charts as "helm push" does.
func push(t *testing.T, dir string, s *server, issuers ...*server) {
	t.Helper()
	client, err := helmregistry.NewClient(helmregistry.ClientOptHTTPClient(trusted(append(issuers, s)...)),
		helmregistry.ClientOptBasicAuth(user, password), helmregistry.ClientOptWriter(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "app-"), ".tgz")
		if _, err := client.Push(data, s.host+"/org/charts/app:"+version); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRegistryWithPassword(t *testing.T) {
	s, _ := registry(t, false)
	push(t, packedCharts(t, "app", versions...), s)
	url := "oci://" + s.host + "/org/charts"
	sameAsHelm(t, fetcher(t, trusting(t, s)), url, s)

	// With Docker's configuration, and Helm's, which has the same form.
	file := filepath.Join(t.TempDir(), "config.json")
	write(t, file, dockerConfig(s.host))
	for _, c := range []fetch.Credentials{{DockerConfig: file}, {HelmRegistry: file}} {
		config := trusting(t, s)
		config.Credentials, config.CAFile = c, s.caFile
		get(t, fetcher(t, config), remote.Ref{Kind: remote.Chart, URL: url, Chart: "app", Version: "1.2.3"})
	}
	config := trusting(t, s)
	config.Credentials, config.CAFile = fetch.Credentials{}, s.caFile
	refuse(t, fetcher(t, config), remote.Ref{Kind: remote.Chart, URL: url, Chart: "app", Version: "1.2.3"}, "refuses access (401)")
	refuse(t, fetcher(t, trusting(t, s)), remote.Ref{Kind: remote.Chart, URL: url, Chart: "other", Version: "1.2.3"},
		"returned status 404: not found")
}

// TestRegistryWithTokens has a registry whose tokens are issued by another server.
func TestRegistryWithTokens(t *testing.T) {
	s, issuer := registry(t, true)
	config := trusting(t, s, issuer)
	push(t, packedCharts(t, "app", versions...), s, issuer)
	url := "oci://" + s.host + "/org/charts"
	f := fetcher(t, config)
	for _, requested := range []string{"^1", "1.2.3", ""} {
		get(t, f, remote.Ref{Kind: remote.Chart, URL: url, Chart: "app", Version: requested})
	}
	// The password is for the registry, and not for whom the registry names.
	config.Allow = []string{"oci://" + s.host}
	before := issuer.requests.Load()
	refuse(t, fetcher(t, config), remote.Ref{Kind: remote.Chart, URL: url, Chart: "app", Version: "1.2.3"},
		"requests that the credentials be sent to "+issuer.host)
	if issuer.requests.Load() != before {
		t.Error("it was asked all the same")
	}
}

// TestChartsOverTime follows one cache through what happens to its sources.
func TestChartsOverTime(t *testing.T) {
	s, _ := registry(t, false)
	dir := packedCharts(t, "app", "1.0.0", "1.1.0")
	push(t, dir, s)
	ref := remote.Ref{Kind: remote.Chart, URL: "oci://" + s.host + "/org/charts", Chart: "app", Version: "^1"}
	exact := ref
	exact.Version = "1.1.0"
	config := trusting(t, s)
	config.Cache.Dir, config.TTL = t.TempDir(), -1
	first := get(t, fetcher(t, config), ref)
	if first.Version != "1.1.0" {
		t.Fatalf("^1 is %s", first.Version)
	}

	s.down.Store(true)
	refuse(t, fetcher(t, config), ref, "returned status 503")
	if got := get(t, fetcher(t, config), exact); !bytes.Equal(got.Data, first.Data) {
		t.Error("the exact version is another one")
	}
	cached := config
	cached.OnFailure = fetch.UseCached
	if got := get(t, fetcher(t, cached), ref); got.Warning == "" || !bytes.Equal(got.Data, first.Data) {
		t.Errorf("the warning is %q", got.Warning)
	}
	offline := config
	offline.Offline = true
	before := s.requests.Load()
	if got := get(t, fetcher(t, offline), ref); got.Warning != "" || s.requests.Load() != before {
		t.Errorf("the warning is %q", got.Warning)
	}

	// The version is pushed again with other content, and the cache has lost it.
	s.down.Store(false)
	packChart(t, dir, "app", "1.1.0", "the second")
	push(t, dir, s)
	if err := os.RemoveAll(filepath.Join(config.Cache.Dir, "blobs")); err != nil {
		t.Fatal(err)
	}
	refuse(t, fetcher(t, config), ref, "its content has changed: its digest was "+first.Digest)
	recorded := fetcher(t, trusting(t, s)).Pinned(func(remote.Ref) string { return first.Digest })
	refuse(t, recorded, exact, "its content has changed")
}
