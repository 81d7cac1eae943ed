package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// TestProcess fetches one of each kind in a process, and finds it in files.
func TestProcess(t *testing.T) {
	t.Parallel()
	n, g := newInternet(t), gitHost{}
	n.host("git.example.com", g.ServeHTTP)
	g.commit(t, "repo", map[string]string{"a.yaml": "kind: ConfigMap"}, nil)
	all := repository(t, "1.0.0", "1.1.0")
	all["/a"] = "content"
	n.host("charts.example.com", serving(all))
	config := Config{Allow: []string{"https://charts.example.com", "https://git.example.com"}, TTL: time.Hour}
	inside := n.fetcher(config)
	n.apart(&config)
	apart := n.fetcher(config)
	for _, ref := range []remote.Ref{chartRef("https://charts.example.com/stable", "^1"),
		chartRef("https://charts.example.com/stable", "1.0.0"),
		fileRef("https://charts.example.com/a"), repositoryRef("https://git.example.com/repo")} {
		want := get(t, inside, ref)
		for range 2 {
			got, err := apart.Ensure(t.Context(), ref)
			if err != nil || got.Data != nil || got.Digest != want.Digest || got.Version != want.Version {
				t.Fatalf("%s: %s %s, %d bytes, %v; want %s %s", ref, got.Version, got.Digest, len(got.Data), err, want.Version, want.Digest)
			}
			file, err := apart.Open(got.Digest)
			if err != nil {
				t.Fatal(err)
			}
			if data, err := io.ReadAll(file); err != nil || string(data) != string(want.Data) {
				t.Errorf("%s: the file has %d bytes, %v", ref, len(data), err)
			}
			file.Close()
		}
	}
	// The index came once to each: the second chart was found in the file.
	indexes := 0
	for _, r := range n.asked("charts.example.com") {
		if strings.HasSuffix(r.URL.Path, "index.yaml") {
			indexes++
		}
	}
	if indexes != 2 {
		t.Errorf("%d indexes were fetched", indexes)
	}
	if left, _ := filepath.Glob(filepath.Join(config.Cache.Dir, "*", ".new*")); len(left) > 0 {
		t.Errorf("%s remain", left)
	}
}

// TestProcessesThatEnd has what ends the process that reads it, and no other.
func TestProcessesThatEnd(t *testing.T) {
	n := newInternet(t)
	sparse := sparseChart(t, 1<<62)
	commit, pack := nestedPack(t, 10, 9, true)
	n.host("git.example.com", packHost(t, commit, pack))
	flow := "{apiVersion: v1, entries: {app: [" + strings.Repeat("{a: [b], version: x},", 200_000) + "]}}"
	n.host("charts.example.com", serving(map[string]string{"/index.yaml": indexOf("app", release{"1.0.0", "app.tgz", ""}),
		"/app.tgz": string(sparse), "/flow/index.yaml": flow, "/a": "content"}))
	slow := make(chan struct{})
	n.host("slow.example.com", func(w http.ResponseWriter, r *http.Request) { <-slow })
	defer close(slow)
	metrics := prometheus.NewRegistry()
	const little, memory = golden.MemoryFactor * 64, golden.MemoryFactor * 192 // MiB
	config := Config{Allow: []string{"https://*"}, Limits: Limits{Time: 60 * time.Second, Memory: little << 20}, Metrics: metrics}
	n.apart(&config)
	f := n.fetcher(config)
	config.Metrics = nil
	refuse(t, f, chartRef("https://charts.example.com/flow", "1.0.0"), "too-large",
		fmt.Sprintf("MiB of memory; the limit is %d MiB; fix: raise --remote-memory", little))
	f.limits.Memory, config.Limits.Memory = memory<<20, memory<<20 // 200 000 paths need more than a little
	refuse(t, f, repositoryRef("https://git.example.com/repo"), "too-large", "")
	refuse(t, f, chartRef("https://charts.example.com", "1.0.0"), "broken", "sparse")
	if got := testutil.ToFloat64(f.metrics.ended.WithLabelValues("memory")); got != 1 {
		t.Errorf("%v were ended for their memory", got)
	}
	config.Limits.Time = time.Second
	refuse(t, n.fetcher(config), fileRef("https://slow.example.com/a"), "timeout", "slow.example.com took longer than 1s")
	want := `# HELP ladder_fetch_processes Processes that fetch now.
# TYPE ladder_fetch_processes gauge
ladder_fetch_processes 0
# HELP ladder_fetch_waiting Fetches that wait for one of the --remote-parallel places.
# TYPE ladder_fetch_waiting gauge
ladder_fetch_waiting 0
`
	if err := testutil.GatherAndCompare(metrics, strings.NewReader(want), "ladder_fetch_processes", "ladder_fetch_waiting"); err != nil {
		t.Error(err)
	}
	// One that is ended by the kernel, one that says what is none, one that never ends.
	for script, want := range map[string]string{
		"kill -9 $$": fmt.Sprintf("the process that reads the response of charts.example.com ended; its limits are %d MiB and 30s", memory),
		"echo boo":   "the process that reads the response of charts.example.com ended",
		`read a; echo '{"Done":{"Version":"x"}}'`:      "the response of charts.example.com has an invalid version",
		`echo '{"Done":{"Failure":{"Outcome":"ok"}}}'`: "the process that reads the response of charts.example.com ended",
		`echo '{"Recorded":{"Ref":{"kind":"chart","url":"https://other.example.com","chart":"x","version":"1.0.0"}}}'; ` +
			`read a; read b; echo "$b" >&2`: "the process that reads the response of charts.example.com ended",
		`exec yes '{"Address":"https://charts.example.com"}'`: "took longer than 1s",
		"exec head -c 100000 /dev/zero":                       "the process that reads the response of charts.example.com ended",
		"exec sleep 600":                                      "took longer than 1s",
	} {
		config.Limits.Time = 30 * time.Second
		if strings.Contains(want, "1s") {
			config.Limits.Time = time.Second
		}
		config.Process = func() *exec.Cmd { return exec.Command("/bin/sh", "-c", script) }
		f := n.fetcher(config)
		_, err := f.Fetch(t.Context(), fileRef("https://charts.example.com/a"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
		crashes, overtimes := testutil.ToFloat64(f.metrics.ended.WithLabelValues("crash")),
			testutil.ToFloat64(f.metrics.ended.WithLabelValues("timeout"))
		crashed := strings.Contains(want, "the process that reads the response")
		if crashed != (crashes > 0) || (want == "took longer than 1s") != (overtimes > 0) {
			t.Errorf("%s: %v crashes, %v ended for their time", script, crashes, overtimes)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(config.Cache.Dir, "*", "*")); len(left) > 0 {
		t.Errorf("%s remain", left)
	}
}

// TestProcessesRunning counts the processes while they fetch.
func TestProcessesRunning(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	config := Config{Allow: []string{"https://busy.example.com"}}
	n.apart(&config)
	f := n.fetcher(config)
	var running float64
	n.host("busy.example.com", func(w http.ResponseWriter, r *http.Request) {
		running = testutil.ToFloat64(f.metrics.running)
		_, _ = io.WriteString(w, "content")
	})
	get(t, f, fileRef("https://busy.example.com/a"))
	if after := testutil.ToFloat64(f.metrics.running); running != 1 || after != 0 {
		t.Errorf("%v ran, and %v after that", running, after)
	}
}

// TestCredentialsOfProcesses: a process is given what opens the address that it is for,
// and of others only if they are allowed; its environment has nothing.
func TestCredentialsOfProcesses(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	dir := t.TempDir()
	for _, host := range []string{"a.example.com", "b.example.com", "c.example.net"} {
		write(t, dir+"/"+host+"/token", "of-"+host)
	}
	config := Config{Allow: []string{"https://*.example.com"}, Credentials: Credentials{Dir: dir}}
	n.apart(&config)
	heard := filepath.Join(t.TempDir(), "heard")
	config.Process = func() *exec.Cmd {
		return exec.Command("/bin/sh", "-c", `read a; echo "$a" > `+heard+`; echo '{"Address":"https://c.example.net/x"}'; read a; echo "$a" >> `+
			heard+`; echo '{"Address":"https://b.example.com/x"}'; read a; echo "$a" >> `+heard)
	}
	if _, err := n.fetcher(config).Fetch(t.Context(), fileRef("https://a.example.com/x")); err == nil {
		t.Error("it is fetched")
	}
	lines := strings.Split(strings.TrimSpace(readText(t, heard)), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, want := range []string{"of-a.example.com", "", "of-b.example.com"} {
		for _, host := range []string{"a.example.com", "b.example.com", "c.example.net"} {
			if has := strings.Contains(lines[i], "of-"+host); has != ("of-"+host == want) {
				t.Errorf("line %d has the token of %s: %v", i, host, has)
			}
		}
	}
}

// TestShares has a host that never answers, and a tenant that asks for much: neither
// holds more than half of the places.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(4)
		var ends []func()
		enter := func(host, tenant string) bool {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			end, err := q.enter(ctx, host, tenant, func() {})
			if err == nil {
				ends = append(ends, end)
			}
			return err == nil
		}
		for i, c := range []struct {
			host, tenant string
			want         bool
		}{{"slow", "a", true}, {"slow", "b", true}, {"slow", "c", false}, {"other", "a", true}, {"another", "a", false}, {"another", "c", true},
			{"more", "d", false}} {
			if got := enter(c.host, c.tenant); got != c.want {
				t.Errorf("%d: %s for %s: %v", i, c.host, c.tenant, got)
			}
		}
		for _, end := range ends {
			end()
		}
		if len(q.hosts)+len(q.tenants)+len(q.both)+len(q.running)+q.used+len(q.waiting) != 0 {
			t.Errorf("%+v remains", q)
		}
	})
}

// TestTurns gives a place that comes free to the tenant that has the fewest.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2)
		first, err := q.enter(t.Context(), "h1", "greedy", func() {})
		if err != nil {
			t.Fatal(err)
		}
		second, err := q.enter(t.Context(), "h2", "other", func() {})
		if err != nil {
			t.Fatal(err)
		}
		order := make(chan string, 4)
		queue := func(host, tenant string) {
			go func() {
				end, err := q.enter(t.Context(), host, tenant, func() {})
				if err != nil {
					order <- err.Error()
					return
				}
				order <- tenant
				end()
			}()
			synctest.Wait()
		}
		queue("h3", "greedy")
		queue("h4", "good")
		second()
		if got := <-order; got != "good" {
			t.Errorf("%s comes first", got)
		}
		first()
		if got := <-order; got != "greedy" {
			t.Errorf("%s comes next", got)
		}
	})
}
