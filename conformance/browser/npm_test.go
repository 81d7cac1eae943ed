package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installed is where npm puts what tests ask for, for as long as they run.
var installed string

// fromNPM installs a package, and returns the text of one of its files.
func fromNPM(t *testing.T, name, file string) string {
	t.Helper()
	fromNPMTo(t, installed, name)
	bare, _, _ := strings.Cut(name, "@")
	text, err := os.ReadFile(filepath.Join(installed, "node_modules", bare, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fromNPMTo installs packages in a directory.
func fromNPMTo(t *testing.T, dir string, names ...string) {
	t.Helper()
	args := []string{"install", "--prefix", dir, "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"}
	if out, err := exec.Command("npm", append(args, names...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
