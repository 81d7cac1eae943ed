package knowledge_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
)

// TestProgram: Vault does not become ready by itself, unless it runs for
// development or its probe takes a sealed one for ready.
func TestProgram(t *testing.T) {
	tests := []struct {
		args  []string
		probe string
		never bool
	}{
		{[]string{"server"}, "", true},
		{[]string{"server"}, "/v1/sys/health?standbyok=true", true},
		{[]string{"server", "-dev"}, "", false},
		{[]string{"server"}, "/v1/sys/health?standbyok=true&sealedcode=204&uninitcode=204", false},
	}
	for _, tt := range tests {
		if _, never := knowledge.Default().Program("docker.io/hashicorp/vault:1.18", tt.args, tt.probe); never != tt.never {
			t.Errorf("%v with the probe %q never becomes ready: %v, want %v", tt.args, tt.probe, never, tt.never)
		}
	}
}

// TestInitializesCluster recognizes commands by their words, however a script
// separates them.
func TestInitializesCluster(t *testing.T) {
	tests := []struct {
		command string
		want    bool
	}{
		{"/cockroach/cockroach init --insecure", true},
		{"/cockroach/cockroach init\n  --host cockroachdb-0", true},
		{"sh -c (cockroach init); exit 0", true},
		{"cockroach \\\n  init", true},
		{"redis-cli --cluster  create a:6379 b:6379", true},
		{`mongosh --eval 'rs.initiate()'`, true},
		{"psql -f init.sql", false},
		{"/scripts/init --now", false},
		{"run --init", false},
		{"chown -R db /docker-entrypoint-init.d", false},
	}
	for _, tt := range tests {
		if got := knowledge.Default().InitializesCluster(tt.command); got != tt.want {
			t.Errorf("%q initializes a cluster: %v, want %v", tt.command, got, tt.want)
		}
	}
}

// TestInitialization: servers need the command, not another one with its word.
func TestInitialization(t *testing.T) {
	base := knowledge.Default()
	by, ok := base.Initialization("docker.io/cockroachdb/cockroach:v26.2.1", []string{"start"}, "/health?ready=1")
	if !ok {
		t.Fatal("the servers need no command")
	}
	if _, ok := base.Initialization("cockroachdb/cockroach:v26.2.1", []string{"sh", "-c", "exec cockroach start-single-node"},
		"/health?ready=1"); ok {
		t.Error("a single node needs a command")
	}
	if _, ok := base.Initialization("cockroachdb/cockroach:v26.2.1", []string{"start"}, "/health"); ok {
		t.Error("servers with a probe that succeeds need a command")
	}
	for script, want := range map[string]bool{
		"/cockroach/cockroach init --insecure":    true,
		"x=$(cockroach \\\n  init)":               true,
		"cockroach workload init movr":            false,
		"cockroach sql --execute 'select init()'": false,
	} {
		if got := by.IsRunIn(script); got != want {
			t.Errorf("%q runs the command: %v, want %v", script, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for kind, want := range map[string]string{
		"Certificate": "certificates", "Ingress": "ingresses", "NetworkPolicy": "networkpolicies", "Gateway": "gateways",
		"StorageClass": "storageclasses", "Prometheus": "prometheuses", "Mesh": "meshes", "Box": "boxes", "Proxy": "proxies", "Relay": "relays",
	} {
		if got := knowledge.Plural(kind); got != want {
			t.Errorf("Plural(%s) = %s, want %s", kind, got, want)
		}
	}
}
