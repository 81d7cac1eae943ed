package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/argocd/health"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/sidecar/serve"
)

// announcement is a parameter as plugin.yaml writes it.
type announcement struct {
	Name           string `json:"name"`
	Title          string `json:"title"`
	Tooltip        string `json:"tooltip"`
	ItemType       string `json:"itemType"`
	CollectionType string `json:"collectionType"`
	String         string `json:"string,omitempty"`
}

// TestPluginYAML makes sure that the stock plugin server announces what ours
// does. With -update the list is written.
func TestPluginYAML(t *testing.T) {
	const file = "../../plugin.yaml"
	var want []announcement
	for _, a := range serve.Announcements() {
		want = append(want, announcement{a.Name, a.Title, a.Tooltip, a.ItemType, a.CollectionType, a.String_})
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if golden.Update() {
		head, _, _ := strings.Cut(string(data), "    static:\n")
		list, err := yaml.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		text := head + "    static:\n    " + strings.TrimSpace(strings.ReplaceAll(string(list), "\n", "\n    ")) + "\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		data = []byte(text)
	}
	var config struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			Generate struct {
				Command []string `json:"command"`
			} `json:"generate"`
			Parameters struct {
				Static []announcement `json:"static"`
			} `json:"parameters"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		t.Fatal(err)
	}
	if config.Kind != "ConfigManagementPlugin" || config.Metadata.Name != plugin.Name ||
		!slices.Equal(config.Spec.Generate.Command, []string{"cmp", "generate"}) {
		t.Errorf("plugin.yaml is for another plugin: %+v", config)
	}
	if diff := gocmp.Diff(want, config.Spec.Parameters.Static); diff != "" {
		t.Errorf("parameters (-table +plugin.yaml); run with -update:\n%s", diff)
	}
}

// TestDeploy applies both ways of installing to a repo-server and compares what
// comes out: the same container, health check and settings.
func TestDeploy(t *testing.T) {
	writeApplicationHealth(t)
	var values struct {
		RepoServer struct {
			ExtraContainers []map[string]any `json:"extraContainers"`
		} `json:"repoServer"`
		Configs struct {
			Params map[string]string `json:"params"`
			CM     map[string]string `json:"cm"`
		} `json:"configs"`
	}
	data, err := os.ReadFile("../../deploy/argocd-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &values); err != nil {
		t.Fatal(err)
	}

	for _, o := range deployed(t, "kustomize") {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(o.Text()), &m); err != nil {
			t.Fatal(err)
		}
		switch o.ID.Kind {
		case "Deployment":
			containers := m["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
			if len(containers) != 2 {
				t.Fatalf("%d containers", len(containers))
			}
			ours := containers[0].(map[string]any)
			if ours["name"] != "ladder" {
				ours = containers[1].(map[string]any)
			}
			if diff := gocmp.Diff(values.RepoServer.ExtraContainers[0], ours); diff != "" {
				t.Errorf("-values +kustomize:\n%s", diff)
			}
		case "ConfigMap":
			ours := values.Configs.CM
			if o.ID.Name == "argocd-cmd-params-cm" {
				ours = values.Configs.Params
			}
			for key, want := range ours {
				if diff := gocmp.Diff(want, m["data"].(map[string]any)[key]); diff != "" {
					t.Errorf("-values +kustomize: %s of %s:\n%s", key, o.ID.Name, diff)
				}
			}
		}
	}
	if diff := gocmp.Diff(applicationHealth(t).Script, values.Configs.CM[healthKey]); diff != "" {
		t.Errorf("the check of Applications; run with -update (-knowledge +values):\n%s", diff)
	}
	checkMemory(t, values.RepoServer.ExtraContainers[0])
	checkContainer(t, values.RepoServer.ExtraContainers[0])
}

// metricsPort is the name of the port with metrics and probes.
const metricsPort = "ladder-metrics"

// checkContainer makes sure that the container runs what is documented: with
// metrics and probes on the port that it names, and no rights that it does not
// need.
func checkContainer(t *testing.T, container map[string]any) {
	t.Helper()
	text, err := yaml.Marshal(container)
	if err != nil {
		t.Fatal(err)
	}
	type overHTTP struct{ Path, Port string }
	type probe struct {
		Exec    struct{ Command []string }
		HTTPGet overHTTP
	}
	var c struct {
		Args  []string
		Ports []struct {
			Name          string
			ContainerPort int
		}
		StartupProbe, LivenessProbe, ReadinessProbe probe
		SecurityContext                             map[string]any
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	flags := serveFlags(t, c.Args)
	address, _ := flags.GetString("operations-address")
	if len(c.Ports) != 1 || c.Ports[0].Name != metricsPort || address != fmt.Sprintf(":%d", c.Ports[0].ContainerPort) {
		t.Errorf("metrics are served on %s, and the ports are %v", address, c.Ports)
	}
	if got := c.StartupProbe.Exec.Command; !slices.Equal(got, []string{"/usr/local/bin/cmp", "serve", "--check"}) {
		t.Errorf("the start is looked at with %q", got)
	}
	for probe, path := range map[overHTTP]string{c.LivenessProbe.HTTPGet: "/healthz", c.ReadinessProbe.HTTPGet: "/readyz"} {
		if probe.Path != path || probe.Port != metricsPort {
			t.Errorf("a probe asks %v, want %s of %s", probe, path, metricsPort)
		}
	}
	if diff := gocmp.Diff(map[string]any{
		"runAsNonRoot": true, "runAsUser": 999.0, "runAsGroup": 999.0, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
		"capabilities": map[string]any{"drop": []any{"ALL"}}, "seccompProfile": map[string]any{"type": "RuntimeDefault"},
	}, c.SecurityContext); diff != "" {
		t.Errorf("the security context (-want +got):\n%s", diff)
	}
	checkMonitoring(t, c.Ports[0].ContainerPort)
}

// checkMonitoring makes sure that the PodMonitor asks at the port of the container, and that
// the NetworkPolicy opens it for monitoring alone.
func checkMonitoring(t *testing.T, port int) {
	t.Helper()
	var monitor struct {
		Spec struct {
			PodMetricsEndpoints []struct{ Port, Path string }
		}
	}
	var policy struct {
		Spec struct {
			Ingress []struct {
				From  []map[string]map[string]map[string]string
				Ports []struct{ Port int }
			}
		}
	}
	for name, into := range map[string]any{"podmonitor.yaml": &monitor, "networkpolicy.yaml": &policy} {
		text, err := os.ReadFile(filepath.Join(monitoringDir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	if e := monitor.Spec.PodMetricsEndpoints; len(e) != 1 || e[0].Port != metricsPort || e[0].Path != "/metrics" {
		t.Errorf("the PodMonitor asks %v", e)
	}
	if i := policy.Spec.Ingress; len(i) != 1 || len(i[0].Ports) != 1 || i[0].Ports[0].Port != port {
		t.Errorf("the NetworkPolicy opens %v", i)
	} else if diff := gocmp.Diff([]map[string]map[string]map[string]string{
		{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}}, i[0].From); diff != "" {
		t.Errorf("who may ask for metrics (-want +got):\n%s", diff)
	}
}

// serveFlags are those of the container's command line.
func serveFlags(t *testing.T, args []string) *pflag.FlagSet {
	t.Helper()
	flags := newServe(cli.Streams{}).Flags()
	if len(args) == 0 || args[0] != "serve" {
		t.Fatalf("the container runs %q", args)
	}
	if err := flags.Parse(args[1:]); err != nil {
		t.Fatal(err)
	}
	return flags
}

// checkMemory makes sure that cmp serve fits into the container: the server with
// what it holds in memory, as many renderings as there may be, and some room.
func checkMemory(t *testing.T, container map[string]any) {
	t.Helper()
	limit := mebibytes(t, container["resources"].(map[string]any)["limits"].(map[string]any)["memory"].(string))
	var args []string
	for _, arg := range container["args"].([]any) {
		args = append(args, arg.(string))
	}
	flags := serveFlags(t, args)
	size := func(flag string) int64 {
		bytes, err := flags.GetInt64(flag)
		if err != nil || bytes <= 0 {
			t.Fatalf("--%s is %d: %v", flag, bytes, err)
		}
		return bytes >> 20
	}
	if env := container["env"]; env != nil && strings.Contains(fmt.Sprint(env), "GOMEMLIMIT") {
		t.Errorf("the server computes its memory limit from its flags, unless the container sets GOMEMLIMIT: %v", env)
	}
	server := size("repository-memory") + size("cache-bytes") + size("answer-memory") + serve.OwnMemory>>20
	parallel, err := flags.GetInt("parallel")
	if err != nil || !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--parallel=") }) {
		t.Errorf("as many renderings as the node has CPUs do not fit into any limit: %v", err)
	}
	const system = 128
	if need := server + int64(parallel)*size("worker-memory") + system; need > limit {
		t.Errorf("the container has %d MiB, and needs %d", limit, need)
	}
	if size("max-repository-bytes") > size("repository-memory")/2 {
		t.Errorf("fewer than two repositories of %d MiB arrive at a time", size("max-repository-bytes"))
	}
	if size("answer-memory") < 2*90 {
		t.Errorf("the largest answer and its message take 180 MiB, and --answer-memory is %d", size("answer-memory"))
	}
}

// mebibytes reads a size as Kubernetes and Go write it, "1Gi" and "900MiB".
func mebibytes(t *testing.T, size string) int64 {
	t.Helper()
	var number int64
	var unit string
	if _, err := fmt.Sscanf(size, "%d%s", &number, &unit); err != nil {
		t.Fatal(err)
	}
	switch strings.TrimSuffix(unit, "B") {
	case "Gi":
		return number << 10
	case "Mi":
		return number
	}
	t.Fatalf("a size in %s", unit)
	return 0
}

const healthKey = "resource.customizations.health.argoproj.io_Application"

// applicationHealth is the check of Applications, whose source is what is known
// about the kind.
func applicationHealth(t *testing.T) health.Check {
	t.Helper()
	k, ok := knowledge.Default().Kind("argoproj.io", "Application")
	checks := health.Checks([]knowledge.Kind{k})
	if !ok || len(checks) != 1 || checks[0].Key != healthKey {
		t.Fatalf("no check of Applications: %v", checks)
	}
	return checks[0]
}

// writeApplicationHealth writes the check to the end of both ways of
// installing, with -update.
func writeApplicationHealth(t *testing.T) {
	t.Helper()
	if !golden.Update() {
		return
	}
	checks := []health.Check{applicationHealth(t)}
	for file, text := range map[string]string{"argocd-values.yaml": health.Values(checks),
		"kustomize/application-health.yaml": health.ConfigMap(checks)} {
		file = filepath.Join("../../deploy", file)
		old, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(old), healthKey)
		_, tail, _ := strings.Cut(text, healthKey)
		if err := os.WriteFile(file, []byte(head+healthKey+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
