//go:build !race

// The race detector makes the initialization of packages allocate more.

package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// muchAtStart is how many bytes the initialization of a package may allocate without being
// named: about 50 µs.
const muchAtStart = 150 << 10

// initializesMuch are the packages whose initialization allocates more, at each start of the
// program. Helm's chart packages import the JSON schemas and the scheme of Kubernetes' types.
var initializesMuch = []string{
	"github.com/Masterminds/semver/v3",
	"github.com/distribution/reference",
	"github.com/elastic/go-seccomp-bpf/arch",
	"github.com/santhosh-tekuri/jsonschema/v6",
	"k8s.io/client-go/kubernetes/scheme",
	"sigs.k8s.io/kustomize/kustomize/v5/commands/edit/set",
}

// onlyTests are packages that only the tests import.
var onlyTests = []string{"github.com/google/go-cmp/cmp", "github.com/russross/blackfriday/v2"}

// TestStartup keeps commands from paying for what others need: what is needed once is computed
// when it is needed.
func TestStartup(t *testing.T) {
	cmd := exec.Command(os.Args[0], "--version")
	cmd.Args[0] = "cmp"
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	var much []string
	for _, line := range regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes,`).FindAllSubmatch(said, -1) {
		name := string(line[1])
		if bytes, err := strconv.Atoi(string(line[2])); (err != nil || bytes > muchAtStart) && !slices.Contains(onlyTests, name) {
			much = append(much, name)
		}
	}
	slices.Sort(much)
	if diff := gocmp.Diff(initializesMuch, much); diff != "" {
		t.Errorf("packages that initialize much: initialize them on first use, or import them only where they are needed (-want +got)\n%s", diff)
	}
}
