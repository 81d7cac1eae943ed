package real_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// A way is how the order of a case is determined.
type way string

const (
	ladder  way = "ladder"  // the plugin
	compact way = "compact" // the plugin, with waves: compact
	without way = "default" // nobody: no object has a wave
	expert  way = "expert"  // someone who numbered the waves by hand
)

// A component is a folder of testdata/cases: what a team has in its repository in
// component/, and what the suite has to know of it in case.yaml.
type component struct {
	name string
	dir  string

	// Why is the purpose of the case.
	Why string `json:"why"`
	// Namespace is where it is deployed; its name if there is none.
	Namespace string `json:"namespace"`
	// Copy is what others have written, such as charts, and comes from Go modules.
	Copy []copied `json:"copy"`
	// Images are those that programs start and no manifest names.
	Images []string `json:"images"`
	// Before are other cases that are in the cluster already.
	Before []string `json:"before"`
	// LoadBalancers get addresses.
	LoadBalancers bool `json:"loadBalancers"`
	// Workers are nodes of the cluster in addition to the first one.
	Workers int `json:"workers"`
	// CompareOptions are those that the program's documentation asks for with Argo CD.
	CompareOptions string `json:"compareOptions"`
	// HealthChecks says that Argo CD has those that cmp health prints for the component,
	// in every order.
	HealthChecks bool `json:"healthChecks"`
	// Expert are the waves that an expert has written, by Kind/name, where either may be *.
	// What is not named has wave 0.
	Expert map[string]int `json:"expert"`
	// Source is where the expert's waves come from.
	Source string `json:"source"`
	// Expect is how the sync ends in a way that does not succeed at the first attempt.
	Expect map[way]expectation `json:"expect"`
}

// copied is a file or folder of a Go module that is laid into the component.
type copied struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	Path    string `json:"path"` // in the module
	To      string `json:"to"`   // in the component
}

// notAtOnce is expected of a sync that needs more attempts, fails or hangs: which of them
// depends on how fast its programs start.
const notAtOnce argocd.Result = "not-at-once"

// expectation is how a sync ends, and what proves that it ends for that reason.
type expectation struct {
	// Result is one of Argo CD's, or notAtOnce.
	Result argocd.Result `json:"result"`
	// Attempts is how many are needed at least, if more than one.
	Attempts int    `json:"attempts"`
	Why      string `json:"why"`
}

// components reads all cases, by name.
func components() (map[string]component, error) {
	files, err := filepath.Glob("testdata/cases/*/case.yaml")
	if err != nil {
		return nil, err
	}
	all := map[string]component{}
	var faults []error
	for _, file := range files {
		c := component{dir: filepath.Dir(file)}
		c.name = filepath.Base(c.dir)
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalStrict(text, &c); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", file, err))
			continue
		}
		if c.Namespace == "" {
			c.Namespace = c.name
		}
		faults = append(faults, c.check(file))
		all[c.name] = c
	}
	for _, c := range all {
		for _, name := range c.Before {
			if _, ok := all[name]; !ok {
				faults = append(faults, fmt.Errorf("%s: before: unknown case %s", c.dir, name))
			}
		}
	}
	return all, errors.Join(faults...)
}

func (c component) check(file string) error {
	var faults []error
	if c.Why == "" {
		faults = append(faults, fmt.Errorf("%s: it has no why", file))
	}
	if c.Expert != nil && c.Source == "" {
		faults = append(faults, fmt.Errorf("%s: the expert's waves have no source", file))
	}
	for w, e := range c.Expect {
		if e.Why == "" {
			faults = append(faults, fmt.Errorf("%s: expect.%s has no why", file, w))
		}
		if w == ladder && e.Result != c.Expect[without].Result {
			faults = append(faults, fmt.Errorf("%s: expect.%s: Ladder's order has to end as well as the default", file, w))
		}
	}
	return errors.Join(faults...)
}

// waves is the plugin's parameter of that name.
func (w way) waves() string {
	return cmp.Or(map[way]string{ladder: "rungs", compact: "compact"}[w], "off")
}

// ways are those in which a case is deployed. What fewer waves save is seen where each syncs.
func (c component) ways() []way {
	all := []way{ladder, without}
	if c.Expert != nil {
		all = append(all, expert)
	}
	if len(c.Expect) == 0 {
		all = append(all, compact)
	}
	return all
}

// files are those of the component, by name: its own override those of others.
func (c component) files(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	for _, from := range c.Copy {
		files, err := from.files(ctx)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, files)
	}
	own, err := argocd.Files(filepath.Join(c.dir, "component"), "")
	if err != nil {
		return nil, err
	}
	maps.Copy(all, own)
	return all, nil
}

func (f copied) files(ctx context.Context) (map[string]string, error) {
	dir, err := module(ctx, f.Module+"@"+f.Version)
	if err != nil {
		return nil, err
	}
	from := filepath.Join(dir, filepath.FromSlash(f.Path))
	info, err := os.Stat(from)
	if err != nil {
		return nil, fmt.Errorf("%s@%s has no %s: %w", f.Module, f.Version, f.Path, err)
	}
	if info.IsDir() {
		return argocd.Files(from, f.To+"/")
	}
	text, err := os.ReadFile(from)
	return map[string]string{f.To: string(text)}, err
}

// module downloads a Go module into Go's cache and returns its folder. Without a
// network, GOPROXY may name a folder.
func module(ctx context.Context, version string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", version)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	cmd.Dir = os.TempDir() // the versions of this module do not matter
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var about struct{ Dir, Error string }
	if json.Unmarshal(out, &about) == nil && about.Error != "" {
		err = errors.New(about.Error)
	}
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w: %s; fix: name a folder of modules in GOPROXY, as docs/e2e.md says",
			version, err, stderr.String())
	}
	return about.Dir, nil
}

// order returns the waves of an expert for manifests: the most specific name applies.
func (c component) order(kind, name string) int {
	for _, key := range []string{kind + "/" + name, kind + "/*", "*/" + name, "*/*"} {
		if wave, ok := c.Expert[key]; ok {
			return wave
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Expert)) {
		if ok, _ := path.Match(strings.ReplaceAll(key, "/", "\x00"), kind+"\x00"+name); ok {
			return c.Expert[key]
		}
	}
	return 0
}
