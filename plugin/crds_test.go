package plugin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/random"
	"github.com/ladder-cmp/ladder/wave"
)

const crdsDir = "../testdata/crds"

// withMode renders a component in a mode, as the tests render all components.
func withMode(t *testing.T, dir, name string, s plugin.Settings) (plugin.Result, error) {
	t.Helper()
	req := request(name)
	// With the links that lead out of it: an os.DirFS shows no links.
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	req.Repo = root.FS()
	s.Name = name
	req.Settings = []plugin.Settings{s}
	req.Random = seeded()
	return plugin.Generate(context.Background(), req, knowledge.Default())
}

// with returns settings with a parameter, as a user sets it.
func with(t *testing.T, s plugin.Settings, name, value string) plugin.Settings {
	t.Helper()
	for _, p := range plugin.Parameters() {
		if p.Name == name {
			if err := p.Set(&s, []string{value}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// seeded derives the same values in each mode, and RSA keys once.
var seeded = sync.OnceValue(func() *plugin.Random {
	seed, err := random.ParseSeed([]byte(strings.Repeat("0123456789abcdef", 2)))
	if err != nil {
		panic(err)
	}
	return &plugin.Random{Key: seed.Key, Now: time.Unix(1_800_000_000, 0), Keys: random.NewKeys(100)}
})

func dirs(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all
}

// TestLifting renders every component in testdata/crds, each of which ships its
// definitions in another way, in both halves, and compares them with what is
// expected. Messages are part of it, and so are errors.
func TestLifting(t *testing.T) {
	names := dirs(t, crdsDir)
	if len(names) < 8 {
		t.Fatalf("only %d components", len(names))
	}
	for _, name := range names {
		for _, mode := range []crds.Mode{crds.Only, crds.Skip} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				res, err := withMode(t, crdsDir, name, plugin.Settings{CRDs: mode})
				var b strings.Builder
				for _, f := range append(res.Findings, finding.Of(err)...) {
					fmt.Fprintf(&b, "# %s: %s\n", f.Severity, f)
				}
				golden.File(t, filepath.Join(crdsDir, name+"."+string(mode)+".want.yaml"), b.String()+res.YAML())
			})
		}
	}
}

// parts are a component in the three modes.
type parts struct{ include, only, skip []object.Object }

// TestLaw proves for every component of the project that nothing is lost and
// nothing shared when its definitions are lifted out.
func TestLaw(t *testing.T) {
	seen := 0
	for _, dir := range []string{componentsDir, crdsDir, "../testdata/charts"} {
		for _, name := range dirs(t, dir) {
			defines := true
			for _, style := range []wave.Style{wave.Rungs, wave.Compact, wave.Off} {
				if !defines && !golden.WholeCorpus() {
					break // there is nothing to lift out, however the rest is ordered
				}
				t.Run(name+" "+string(style), func(t *testing.T) {
					var p parts
					var errs [3]error
					for i, mode := range []crds.Mode{crds.Include, crds.Only, crds.Skip} {
						res, err := withMode(t, dir, name, plugin.Settings{CRDs: mode, Waves: style})
						errs[i] = err
						*[]*[]object.Object{&p.include, &p.only, &p.skip}[i] = res.Objects
					}
					if defines = holdsErrors(t, p, errs); defines {
						seen++
						p.law(t)
					}
				})
			}
		}
	}
	if seen < 27 {
		t.Errorf("only %d times there were definitions, and they rendered", seen)
	}
}

// holdsErrors checks the errors of the three modes, and reports whether there
// are definitions. A half that is empty is an error, and the other way round.
func holdsErrors(t *testing.T, p parts, errs [3]error) bool {
	t.Helper()
	for i, err := range errs {
		for _, f := range finding.Of(err) {
			if !(i == 1 && f.Rule == "no-crds" || i != 1 && f.Rule == "empty-rendering" || f.Rule == "duplicate-object" ||
				f.Rule == "bad-chart" || strings.HasPrefix(string(f.Rule), "crd-")) {
				t.Errorf("%s: %s", f.Rule, f)
			}
		}
	}
	if definitions, _ := crds.Split(p.include); errs[1] != nil && len(definitions) > 0 && errs[0] == nil {
		t.Errorf("there are definitions, and they do not come out: %v", errs[1])
	}
	return errs[1] == nil && errs[0] == nil
}

// inOneWave gives an object the same wave as every other one.
func inOneWave(t *testing.T, o object.Object) object.Object {
	t.Helper()
	o, err := o.Annotate(object.SyncWave, "0")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// law checks the three parts against each other.
func (p parts) law(t *testing.T) {
	t.Helper()
	definitions, rest := crds.Split(p.include)
	p.checkSkip(t, definitions, rest)
	p.checkOnly(t, definitions)
}

// checkSkip checks that skip is include minus its CRDs, to the letter, but for the option
// that lets Argo CD do without them in its dry run, and for the waves: without CRDs there
// may be fewer, or one, which is not written.
func (p parts) checkSkip(t *testing.T, definitions, rest []object.Object) {
	t.Helper()
	defined := map[knowledge.GroupKind]bool{}
	for _, o := range definitions {
		defined[knowledge.GroupKind{Group: o.Get("spec", "group").Text(), Kind: o.Get("spec", "names", "kind").Text()}] = true
	}
	var want, got []string
	for i := range p.skip {
		p.skip[i] = inOneWave(t, p.skip[i])
	}
	for i, o := range rest {
		o = inOneWave(t, o)
		lifted := defined[knowledge.GroupKind{Group: o.ID.Group, Kind: o.ID.Kind}] && len(o.Phases()) > 0
		if !lifted || i >= len(p.skip) {
			want = append(want, o.Text())
			continue
		}
		list, _ := o.Annotation(object.SyncOptions)
		list, _ = object.WithOptions(list, object.SkipDryRun)
		if got, _ := p.skip[i].Annotation(object.SyncOptions); got != list {
			t.Errorf("%s has the options %q, want %q", p.skip[i].ID, got, list)
		}
		o, err := o.Annotate(object.SyncOptions, list)
		if err != nil {
			t.Fatal(err)
		}
		// Where in the annotations it stands is of no matter.
		p.skip[i] = withoutOptions(t, p.skip[i])
		want = append(want, withoutOptions(t, o).Text())
	}
	for _, o := range p.skip {
		got = append(got, o.Text())
		if crds.Is(o) {
			t.Errorf("skip holds %s", o.ID)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("skip is not include without its definitions (-want +got):\n%s", diff)
	}
}

// checkOnly checks that only is definitions, and all of them.
func (p parts) checkOnly(t *testing.T, definitions []object.Object) {
	t.Helper()
	lifted := map[string]object.Object{}
	for _, o := range p.only {
		if !crds.Is(o) {
			t.Errorf("only holds %s", o.ID)
		}
		if _, twice := lifted[o.ID.Name]; twice {
			t.Errorf("only holds %s twice", o.ID)
		}
		lifted[o.ID.Name] = o
		list, _ := o.Annotation(object.SyncOptions)
		for _, option := range []string{"ServerSideApply=", "Prune="} {
			if !strings.Contains(list, option) {
				t.Errorf("%s has no %s", o.ID, option)
			}
		}
		if o.IsHook() || o.ID.Namespace != "" || o.Get("status").Exists() || o.Get("spec", "preserveUnknownFields").Exists() {
			t.Errorf("%s is not clean:\n%s", o.ID, o.Text())
		}
	}
	for _, o := range definitions {
		l, ok := lifted[o.ID.Name]
		if !ok {
			t.Errorf("only lacks %s", o.ID)
			continue
		}
		// Comparing schemas is faster than writing their differences, which are usually none.
		if want, got := said(t, o), said(t, l); !reflect.DeepEqual(want, got) {
			t.Errorf("%s says something else (-include +only):\n%s", o.ID, cmp.Diff(want, got))
		}
	}
}

func withoutOptions(t *testing.T, o object.Object) object.Object {
	t.Helper()
	o, err := o.Without([]string{"metadata", "annotations", object.SyncOptions})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// said decodes what a definition says, without what is taken away or added
// where it stands alone.
func said(t *testing.T, o object.Object) map[string]any {
	t.Helper()
	var all map[string]any
	if err := yaml.Unmarshal([]byte(o.Text()), &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "status")
	meta := all["metadata"].(map[string]any)
	delete(meta, "namespace")
	annotations, _ := meta["annotations"].(map[string]any)
	for _, key := range []string{object.SyncWave, object.SyncOptions, object.HelmHook, object.HelmWeight} {
		delete(annotations, key)
	}
	if len(annotations) == 0 {
		delete(meta, "annotations")
	}
	delete(all["spec"].(map[string]any), "preserveUnknownFields")
	dropEmptyProperties(all["spec"])
	return all
}

// dropEmptyProperties drops "properties: {}" wherever it runs beside a type.
func dropEmptyProperties(v any) {
	switch v := v.(type) {
	case map[string]any:
		if p, ok := v["properties"].(map[string]any); ok && len(p) == 0 && v["type"] != nil {
			delete(v, "properties")
		}
		for _, below := range v {
			dropEmptyProperties(below)
		}
	case []any:
		for _, below := range v {
			dropEmptyProperties(below)
		}
	}
}

// TestLawOnCharts proves the law on what real charts render to.
func TestLawOnCharts(t *testing.T) {
	golden.SomeCharts(t, func(t *testing.T, text string) {
		objs, err := object.Parse("chart.yaml", 1, text)
		if err != nil {
			t.Fatal(err)
		}
		var p parts
		var errs [3]error
		for i, mode := range []crds.Mode{crds.Include, crds.Only, crds.Skip} {
			res, err := plugin.Annotate(objs, knowledge.Default(), nil, plugin.Settings{CRDs: mode})
			errs[i] = err
			*[]*[]object.Object{&p.include, &p.only, &p.skip}[i] = res.Objects
		}
		if holdsErrors(t, p, errs) {
			p.law(t)
		}
	})
}

// TestBothHalvesLeadToTheOperator: a definition with a conversion webhook leads
// to the Service and the certificate of the operator's release, although the
// Application that holds it has a name of its own.
func TestBothHalvesLeadToTheOperator(t *testing.T) {
	half := func(app string, mode crds.Mode, parameters ...plugin.Settings) (plugin.Result, error) {
		req := plugin.Request{Repo: os.DirFS(crdsDir), Dir: "kiln", App: plugin.App{Name: app, Namespace: "demo"},
			Settings: append(parameters, plugin.Settings{CRDs: mode})}
		return plugin.Generate(context.Background(), req, knowledge.Default())
	}
	operator, err := half("kiln-prod", crds.Skip)
	if err != nil {
		t.Fatal(err)
	}
	service := ""
	for _, o := range operator.Objects {
		if o.ID.Kind == "Service" {
			service = o.ID.Name
		}
	}
	definitions, err := half("kiln-prod-crds", crds.Only, plugin.Settings{Name: "kiln-prod"})
	if err != nil {
		t.Fatal(err)
	}
	bricks := definitions.Objects[0]
	client := bricks.Get("spec", "conversion", "webhook", "clientConfig", "service")
	if got := client.Get("name").Text(); service == "" || got != service {
		t.Errorf("it is converted by Service %q, and the operator has %q", got, service)
	}
	if got := client.Get("namespace").Text(); got != "demo" {
		t.Errorf("it is converted in namespace %q", got)
	}
	if got, _ := bricks.Annotation("cert-manager.io/inject-ca-from"); got != "demo/kiln-prod-webhook" {
		t.Errorf("its CA comes from %q", got)
	}

	// Nobody said the name of the release: the Application's own would be wrong.
	_, err = half("kiln-prod-crds", crds.Only)
	found := finding.Of(err)
	if len(found) != 1 || found[0].Rule != "crd-release" || found[0].Field != "spec.conversion.webhook.clientConfig.service.name" {
		t.Errorf("error = %v; want one about the name of the release", err)
	}
	// That of the operator is right where both are of one name.
	if _, err := half("kiln-prod", crds.Include, plugin.Settings{}); err != nil {
		t.Error(err)
	}
}

// TestUpgradersOff turns a Job off that writes definitions, by the value that
// its chart has for it, with all that comes with the Job.
func TestUpgradersOff(t *testing.T) {
	for _, mode := range []crds.Mode{crds.Include, crds.Skip} {
		kept, err := withMode(t, crdsDir, "orchard", plugin.Settings{CRDs: mode})
		if err != nil {
			t.Fatal(err)
		}
		off, err := withMode(t, crdsDir, "orchard", with(t, plugin.Settings{CRDs: mode}, "crds-upgraders", "off"))
		if err != nil {
			t.Fatal(err)
		}
		there := map[object.ID]bool{}
		for _, o := range off.Objects {
			there[o.ID] = true
		}
		var gone []string
		for _, o := range kept.Objects {
			if !there[o.ID] {
				gone = append(gone, o.ID.String())
			}
		}
		if diff := cmp.Diff([]string{"ServiceAccount orchard-upgrade-crds", "Job orchard-upgrade-crds"}, gone); diff != "" {
			t.Errorf("crds: %s: what is gone (-want +got):\n%s", mode, diff)
		}
		for _, f := range off.Findings {
			if f.Rule == "crd-upgrader" {
				t.Errorf("still reported: %s", f)
			}
		}
	}
}

// TestPruning: definitions are pruned only on request, and never if their chart
// asks to keep them.
func TestPruning(t *testing.T) {
	for _, tt := range []struct {
		prune string
		want  map[string]string
	}{
		{"false", map[string]string{"trees.orchard.example.com": "ServerSideApply=true,Prune=false",
			"apples.orchard.example.com": "ServerSideApply=true,Prune=false"}},
		{"true", map[string]string{"trees.orchard.example.com": "ServerSideApply=true,Prune=false",
			"apples.orchard.example.com": "ServerSideApply=true"}},
	} {
		res, err := withMode(t, crdsDir, "orchard", with(t, plugin.Settings{CRDs: crds.Only}, "crds-prune", tt.prune))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, o := range res.Objects {
			if list, _ := o.Annotation(object.SyncOptions); tt.want[o.ID.Name] != "" {
				got[o.ID.Name] = list
			}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("got %v, want %v", got, tt.want)
		}
	}
}
