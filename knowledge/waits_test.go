package knowledge_test

import (
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
)

// TestWaits is the table of scripts that wait, with the parts that do.
func TestWaits(t *testing.T) {
	tests := []struct {
		image, script string
		restarted     bool
		want          string
	}{
		{"busybox", "until nc -z db 5432; do sleep 1; done; seed http://api", false, "until nc -z db 5432; do sleep 1; "},
		{"busybox", "while ! nslookup db; do :; done", false, "while ! nslookup db; do :; "},
		{"busybox", "for i in 1 2 3; do curl http://db && break; sleep 5; done", false, "for i in 1 2 3; do curl http://db && break; sleep 5; "},
		{"busybox", "for f in /sql/*; do psql -h db -f $f; done", false, ""},
		{"busybox", "while read f; do psql -h db -f $f; done", false, ""},
		{"busybox", "wait() { until nc -z $1 80; do sleep 1; done; }; wait db", false, "wait() { until nc -z $1 80; do sleep 1; done; }; wait db"},
		{"busybox", "nc -vz db 5432", false, ""},
		{"busybox", "nc -vz db 5432", true, "nc -vz db 5432"},
		{"busybox", "nc -l 5432", true, ""},
		{"busybox", "seed && kubectl -n shop rollout status deploy/db && seed http://api", false, "kubectl -n shop rollout status deploy/db "},
		{"busybox", "kubectl apply -f x", true, ""},
		{"busybox", "/scripts/wait-for-it.sh db:80 -- seed", false, "wait-for-it.sh db:80 -- seed"},
		{"docker.io/example/k8s-wait-for:v2", "job db-migrate", false, "job db-migrate"},
		{"busybox", "seed http://api", false, ""},
	}
	for _, tt := range tests {
		parts, _ := knowledge.Default().Waits(tt.image, []string{tt.script}, tt.restarted)
		got := strings.Join(parts, "|")
		if got != tt.want && !strings.HasSuffix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s (restarted: %v): %q, want %q", tt.script, tt.restarted, got, tt.want)
		}
	}
}
