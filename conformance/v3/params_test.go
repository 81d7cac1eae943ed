package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestParams keeps the keys that cmp doctor knows of argocd-cmd-params-cm to those
// that this Argo CD reads.
func TestParams(t *testing.T) {
	known, err := os.ReadFile("../../argocd/doctor/params.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "manifests", "install-with-hydrator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile(`key: (\S+)\n\s+name: argocd-cmd-params-cm`).FindAllStringSubmatch(string(manifests), -1)
	if len(keys) < 100 {
		t.Fatalf("the manifests show %d keys", len(keys))
	}
	for _, key := range keys {
		if !strings.Contains(string(known), "\n"+key[1]+"\n") {
			t.Errorf("argocd/doctor/params.txt lacks %s", key[1])
		}
	}
}
