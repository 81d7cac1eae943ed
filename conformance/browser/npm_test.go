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
	cmd := exec.Command("npm", "install", "--prefix", installed, "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	bare, _, _ := strings.Cut(name, "@")
	text, err := os.ReadFile(filepath.Join(installed, "node_modules", bare, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
