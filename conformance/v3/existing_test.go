package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/ladder-cmp/ladder/conformance/suite"
)

// TestExistingApplications proves what cmp diff --applications takes as the objects of
// existing Applications. Argo CD's own code renders each Application to a component of plain
// manifests, and the comparison with that component must find no difference.
func TestExistingApplications(t *testing.T) {
	install(t)
	program := suite.Program(t)
	files, err := filepath.Glob("testdata/native/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := unpack(t, archive)
		// Neither the options of a build nor the revision are in an Application.
		if r.differ || r.options.BuildOptions != "" || slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return strings.Contains(string(f.Data), "ARGOCD_APP_REVISION") }) {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			compareExisting(t, program, r, r.native, notCompared[name])
		})
	}
}

// notCompared has, for an archive, why the program cannot compare its Application: Ladder
// renders no file without a kind, and no component.yaml holds a namespace of templates.
var notCompared = map[string]string{
	"directory.explicit":           "does not render",
	"directory.unrelated-excluded": "does not render",
	"helm.namespace":               "helm.namespace is not imported",
}

// TestRandomApplications is the same for random settings of fixed components.
func TestRandomApplications(t *testing.T) {
	install(t)
	program := suite.Program(t)
	for seed := range uint64(12) {
		for name, settings := range map[string]func(*rand.Rand) v1alpha1.ApplicationSource{"shop": randomHelm, "bookshelf": randomKustomize, "plain-guestbook": randomDirectory} {
			t.Run(fmt.Sprintf("%s-%d", name, seed), func(t *testing.T) {
				r := row{root: t.TempDir()}
				if err := os.CopyFS(filepath.Join(r.root, "app"), os.DirFS(filepath.Join("../../testdata/components", name))); err != nil {
					t.Fatal(err)
				}
				source := settings(rand.New(rand.NewPCG(seed, 1)))
				source.Path = "app"
				compareExisting(t, program, r, []v1alpha1.ApplicationSource{source}, "")
			})
		}
	}
}

// chance returns true in half of all cases.
func chance(r *rand.Rand) bool { return r.IntN(2) == 0 }

func randomHelm(r *rand.Rand) v1alpha1.ApplicationSource {
	h := &v1alpha1.ApplicationSourceHelm{SkipCrds: chance(r), SkipTests: chance(r)}
	if chance(r) {
		h.ReleaseName = "market"
	}
	if chance(r) {
		values := fmt.Sprintf(`{"replicas": %d, "ingress": {"enabled": %t}}`, 1+r.IntN(5), chance(r))
		if h.Values = values; chance(r) {
			h.Values, h.ValuesObject = "", &runtime.RawExtension{Raw: []byte(values)}
		}
	}
	if chance(r) {
		h.Parameters = append(h.Parameters, v1alpha1.HelmParameter{Name: "image.tag", Value: fmt.Sprint(r.IntN(9)), ForceString: true})
	}
	if chance(r) {
		h.Parameters = append(h.Parameters, v1alpha1.HelmParameter{Name: "autoscaling.max", Value: fmt.Sprint(6 + r.IntN(3))})
	}
	if chance(r) {
		h.ValueFiles = []string{"missing.yaml", "values.yaml"}
		h.IgnoreMissingValueFiles = true
	}
	return v1alpha1.ApplicationSource{Helm: h}
}

func randomKustomize(r *rand.Rand) v1alpha1.ApplicationSource {
	k := &v1alpha1.ApplicationSourceKustomize{}
	if chance(r) {
		k.NamePrefix = "x-"
	}
	if chance(r) {
		k.NameSuffix = "-y"
	}
	if chance(r) {
		k.Namespace = "elsewhere"
	}
	if chance(r) {
		k.CommonLabels, k.LabelWithoutSelector = map[string]string{"team": "retail"}, chance(r)
	}
	if chance(r) {
		k.CommonAnnotations = map[string]string{"example.com/app": "shelf"}
	}
	if chance(r) {
		k.Images = v1alpha1.KustomizeImages{"bookshelf=registry.example.com/bookshelf:v9"}
	}
	return v1alpha1.ApplicationSource{Kustomize: k}
}

func randomDirectory(r *rand.Rand) v1alpha1.ApplicationSource {
	d := &v1alpha1.ApplicationSourceDirectory{Recurse: chance(r)}
	if chance(r) {
		d.Exclude = []string{"config/*", "store/**", "{store,config}/*.yaml"}[r.IntN(3)]
	}
	if chance(r) {
		d.Include = []string{"*.yaml", "**/*.yaml", "guestbook.yaml"}[r.IntN(3)]
	}
	return v1alpha1.ApplicationSource{Directory: d}
}

// compareExisting renders an Application with these sources by Argo CD's code, and compares
// the result with what the program takes as its objects. If unrendered is not empty, the
// program must say so instead of comparing.
func compareExisting(t *testing.T, program string, r row, sources []v1alpha1.ApplicationSource, unrendered string) {
	t.Helper()
	native := r.render(t, sources)
	if native.err != nil {
		t.Fatal(native.err)
	}
	if len(native.manifests) == 0 {
		unrendered = "nothing was rendered"
	}
	app, elsewhere := existingApplication(r, sources)
	if elsewhere != "" {
		unrendered = elsewhere
	}
	text, err := yaml.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		".git/HEAD": "", "argocd/shop.yaml": string(text), "components/shop/component.yaml": "name: shop\nnamespace: demo\n",
		"components/shop/manifests.yaml": strings.Join(native.manifests, "\n---\n") + "\n",
	} {
		name = filepath.Join(r.root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, output := diffExisting(t, program, r)
	if unrendered != "" {
		if !strings.Contains(got.Unrendered, unrendered) {
			t.Errorf("want an Application that is not compared, because %s:\n%s", unrendered, output)
		}
		return
	}
	if m := got.Manifests; m == nil || len(m.Added)+len(m.Removed)+len(m.Changed) > 0 || m.Unchanged == 0 {
		t.Errorf("Argo CD renders %d objects\n%s\n%s", len(native.manifests), text, output)
	}
}

// existingApplication is the Application that has these sources, and why it cannot be
// compared, if it cannot.
func existingApplication(r row, sources []v1alpha1.ApplicationSource) (app v1alpha1.Application, unrendered string) {
	const repo = "https://git.example.com/platform.git"
	app = v1alpha1.Application{TypeMeta: metav1.TypeMeta{APIVersion: "argoproj.io/v1alpha1", Kind: "Application"}, ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "argocd"}}
	app.Spec = v1alpha1.ApplicationSpec{Project: "retail", Destination: v1alpha1.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: "demo"}}
	for _, s := range sources {
		s.RepoURL = repo
		app.Spec.Sources = append(app.Spec.Sources, s)
	}
	for _, name := range slices.Sorted(maps.Keys(r.options.Refs)) {
		ref := v1alpha1.ApplicationSource{RepoURL: repo, Ref: name}
		if dir := r.options.Refs[name]; dir != "" {
			ref.RepoURL, unrendered = "https://git.example.com/"+dir+".git", "is in another repository"
		}
		app.Spec.Sources = append(app.Spec.Sources, ref)
	}
	if len(app.Spec.Sources) == 1 {
		app.Spec.Source, app.Spec.Sources = &app.Spec.Sources[0], nil
	}
	return app, unrendered
}

// comparison is what cmp diff --output json says about an Application.
type comparison struct {
	Unrendered string
	Manifests  *struct {
		Added, Removed, Changed []any
		Unchanged               int
	}
}

// diffExisting compares the component with the Application, and returns what the program
// printed, too.
func diffExisting(t *testing.T, program string, r row) (got comparison, output string) {
	t.Helper()
	args := []string{"diff", "components", "--applications", "argocd", "--kube-version", "1.34.0", "--output", "json"}
	for _, v := range r.options.APIVersions {
		args = append(args, "--api-versions", v)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = r.root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cmp %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	output = fmt.Sprintf("%s\n%s", out, stderr.String())
	var all struct{ Applications []comparison }
	if err := json.Unmarshal(out, &all); err != nil || len(all.Applications) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	return all.Applications[0], output
}
