package knowledge

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/object"
)

// allKinds loads every file, which strict decoding checks, and returns the
// records in it.
func allKinds(t *testing.T) []Kind {
	t.Helper()
	b := Default()
	var all []Kind
	for name, g := range b.groups {
		f, err := g.load()
		if err != nil {
			t.Fatal(err)
		}
		if f.Group != name {
			t.Errorf("kinds/%s.yaml says it is about group %q", name, f.Group)
		}
		if !strings.HasPrefix(f.Source, "https://") {
			t.Errorf("kinds/%s.yaml has no source", name)
		}
		all = append(all, f.Kinds...)
	}
	if len(all) < 80 {
		t.Errorf("only %d kinds", len(all))
	}
	return all
}

func TestEveryFactGivesItsReason(t *testing.T) {
	b := Default()
	for _, k := range allKinds(t) {
		name := GroupKind{k.Group, k.Kind}.String()
		if _, ok := b.Rung(k.Rung); !ok {
			t.Errorf("%s: there is no rung %q", name, k.Rung)
		}
		if k.Why == "" || k.Source == "" {
			t.Errorf("%s: says on which rung it stands, but not why or from where that is known", name)
		}
		if !slices.Contains([]string{"", "cluster"}, k.Scope) || !slices.Contains([]string{"", "once", "later"}, k.Runs) ||
			!slices.Contains([]string{"", "role", "binding"}, k.Rights) || !slices.Contains([]string{"", "with-consumer"}, k.Place) {
			t.Errorf("%s: scope %q, runs %q, rights %q or place %q means nothing", name, k.Scope, k.Runs, k.Rights, k.Place)
		}
		for _, h := range k.Health {
			if h.Waits == "" && !h.Healthy {
				t.Errorf("%s: health without what it waits for", name)
			}
			if h.Never != "" && h.Passes != "" {
				t.Errorf("%s: a health record gives two reasons not to wait for it", name)
			}
		}
		for _, r := range k.References {
			checkReference(t, name, r)
		}
	}
	for _, r := range b.PodReferences() {
		checkReference(t, "Pod template", r)
	}
	for _, r := range b.Ladder() {
		if r.Why == "" {
			t.Errorf("rung %s: no reason", r.Name)
		}
	}
}

func checkReference(t *testing.T, kind string, r Reference) {
	t.Helper()
	where := kind + " " + r.At.String() + r.Named
	if r.At.IsZero() == (r.Named == "") {
		t.Errorf("%s: a reference has either a path or a name", where)
	}
	if r.Why == "" || r.Source == "" {
		t.Errorf("%s: no reason or no source", where)
	}
	if len(r.To) == 0 {
		t.Errorf("%s: refers to nothing", where)
	}
	if !slices.Contains([]Meaning{Exists, Healthy, Produces, With, Known}, r.Meaning) {
		t.Errorf("%s: meaning %q means nothing", where, r.Meaning)
	}
	if r.Namespace != "" && r.Namespace != "any" {
		t.Errorf("%s: namespace %q means nothing", where, r.Namespace)
	}
	core := Default().file("")
	for _, to := range r.To {
		if to.Group == "" && core.byKind[to.Kind] == nil {
			t.Errorf("%s: %s is neither a kind of its own file nor a core kind; write its group", where, to.Kind)
		}
	}
}

func TestRungsAscend(t *testing.T) {
	ladder := Default().Ladder()
	for i := 1; i < len(ladder); i++ {
		if ladder[i].Wave <= ladder[i-1].Wave {
			t.Errorf("rung %s at wave %d does not stand above %s at %d", ladder[i].Name, ladder[i].Wave, ladder[i-1].Name, ladder[i-1].Wave)
		}
	}
	for _, name := range []string{Controllers, Workloads, Smokes} {
		if _, ok := Default().Rung(name); !ok {
			t.Errorf("code refers to rung %s, which is not there", name)
		}
	}
	if last := ladder[len(ladder)-1].Name; last != Smokes {
		t.Errorf("the last rung is %s, not %s", last, Smokes)
	}
}

// TestHealthFollowsContent looks at kinds whose health depends on what the
// object says.
func TestHealthFollowsContent(t *testing.T) {
	tests := []struct {
		manifest string
		waits    bool
		doubtful bool
	}{
		{"{apiVersion: v1, kind: Service, metadata: {name: a}}", false, false},
		{"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer}}", true, true},
		{"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}", true, false},
		{"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 0}}", false, false},
		{"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {paused: true}}", true, true},
		{"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {suspend: true}}", true, true},
		{"{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}}", false, false},
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", false, false},
		{"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}}", true, true},
	}
	for _, tt := range tests {
		objs, err := object.Parse("", 0, tt.manifest)
		if err != nil {
			t.Fatal(err)
		}
		h, waits := Default().Of(objs[0]).HealthOf(objs[0])
		if waits != tt.waits || waits && (h.Uncertain() != "") != tt.doubtful {
			t.Errorf("%s: waits %v, doubtful %q; want %v, %v", tt.manifest, waits, h.Uncertain(), tt.waits, tt.doubtful)
		}
	}
}

func TestUnknownKinds(t *testing.T) {
	for manifest, rung := range map[string]string{
		"{apiVersion: zoo.example.com/v1, kind: Zebra, metadata: {name: a}}":            "workloads",
		"{apiVersion: zoo.example.com/v1, kind: AnimalClass, metadata: {name: a}}":      "configs",
		"{apiVersion: flowcontrol.apiserver.k8s.io/v9, kind: New, metadata: {name: a}}": "configs",
	} {
		objs, err := object.Parse("", 0, manifest)
		if err != nil {
			t.Fatal(err)
		}
		if got := Default().Of(objs[0]); got.Rung != rung || got.Why == "" {
			t.Errorf("%s: rung %q because %q, want %s", manifest, got.Rung, got.Why, rung)
		}
	}
}

func TestPath(t *testing.T) {
	objs, err := object.Parse("", 0, `
apiVersion: v1
kind: Pod
metadata:
  name: a
  annotations: {example.com/x: "y"}
spec:
  volumes:
  - secret: {secretName: s1}
  - configMap: {name: c}
  - secret: {secretName: s2}
  byName:
    one: {v: "1"}
    two: {v: "2"}
`)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"spec.volumes[].secret.secretName":      "spec.volumes[0].secret.secretName=s1 spec.volumes[2].secret.secretName=s2",
		`metadata.annotations["example.com/x"]`: `metadata.annotations["example.com/x"]=y`,
		"spec.byName{}.v":                       "spec.byName.one.v=1 spec.byName.two.v=2",
		"spec.missing[].x":                      "",
		"metadata.name":                         "metadata.name=a",
	} {
		p, err := ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range p.Find(objs[0].Root()) {
			got = append(got, f.Field+"="+f.Value.Text())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s finds %q, want %q", path, s, want)
		}
	}
	for _, bad := range []string{"a..b", "[]", `a["`, "a[1]", "a.", ".a"} {
		if p, err := ParsePath(bad); err == nil {
			t.Errorf("%q was read as a path: %v", bad, p)
		}
	}
}
