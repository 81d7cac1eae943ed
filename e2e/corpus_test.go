package e2e_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// corpus reads the files of a directory that contain manifests: *.yaml, or *.yaml.gz.
func corpus(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, entry := range entries {
		name, packed := strings.CutSuffix(entry.Name(), ".gz")
		name, ok := strings.CutSuffix(name, ".yaml")
		if !ok {
			continue
		}
		text, err := readPacked(filepath.Join(dir, entry.Name()), packed)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) != "" {
			files[name] = text
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no manifests (*.yaml or *.yaml.gz)", dir)
	}
	return files, nil
}

// ownFault is why manifests of a corpus do not sync in any order.
type ownFault struct {
	Result argocd.Result
	// Says is part of what Argo CD and the cluster double report.
	Says string
	Why  string
}

// readFaults reads them from testdata/faults.yaml, by the name of the file.
func readFaults() (map[string]ownFault, error) {
	const path = "testdata/faults.yaml"
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	faults := map[string]ownFault{}
	if err := yaml.UnmarshalStrict(text, &faults); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return faults, nil
}

// holds checks that the fault still exists. If it does not, remove it from the file.
func (f ownFault) holds(t *testing.T, g *stage, name string) {
	t.Helper()
	out := g.sync(t, shortHangTimeout)
	r := row{"corpus", name, waves(g.objs), out.Duration, string(out.Result) + ", its own fault: " + f.Why}
	if explanation := here.argo.Explain(out, g.waiting()); out.Result != f.Result || !strings.Contains(explanation, f.Says) {
		t.Errorf("the sync: %s, want %s for %q\n%s", out.Result, f.Result, f.Says, explanation)
		r.result = "FAILED: " + string(out.Result)
	}
	results.add(r)
}

func readPacked(path string, packed bool) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	var in io.Reader = file
	if packed {
		if in, err = gzip.NewReader(file); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return string(text), nil
}

// namespaceOf is the namespace that manifests were rendered for: that of most of
// them.
func namespaceOf(t *testing.T, text string) string {
	t.Helper()
	objs, err := objects(text)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	most := "default"
	for _, obj := range objs {
		name := obj.GetNamespace()
		if count[name]++; name != "" && name != "kube-system" && count[name] > count[most] {
			most = name
		}
	}
	return most
}
