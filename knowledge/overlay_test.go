package knowledge

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
)

var sameKind = gocmp.Options{gocmp.Comparer(func(x, y Path) bool { return x.String() == y.String() }), cmpopts.EquateEmpty(),
	cmpopts.IgnoreFields(Kind{}, "ChangedBy")}

// TestRoundTrip prints every record and reads it as a ladder.yaml over what is
// built in: nothing changes.
func TestRoundTrip(t *testing.T) {
	for _, g := range Default().Groups() {
		over, err := Default().With("ladder.yaml", YAML(g.Kinds))
		if err != nil {
			t.Errorf("%s: %v in\n%s", g.Name, err, YAML(g.Kinds))
			continue
		}
		for _, k := range g.Kinds {
			got, ok := over.Kind(g.Name, k.Kind)
			if !ok || len(got.ChangedBy) != 1 {
				t.Errorf("%s/%s: the record does not count", g.Name, k.Kind)
			}
			if diff := gocmp.Diff(k, got, sameKind); diff != "" {
				t.Errorf("%s/%s (-ours +read again):\n%s", g.Name, k.Kind, diff)
			}
		}
	}
}

// with adds files, the farthest first, which are called a.yaml, b.yaml, ….
func with(t *testing.T, texts ...string) *Base {
	t.Helper()
	b := Default()
	for i, text := range texts {
		var err error
		if b, err = b.With(string(rune('a'+i))+".yaml", text); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// TestContributedRecord reads the record that CONTRIBUTING.md shows, as a file of ours and
// as a ladder.yaml, which checks its paths and references, too.
func TestContributedRecord(t *testing.T) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, record, found := strings.Cut(string(text), "```yaml\n")
	record, _, ended := strings.Cut(record, "```")
	if !found || !ended {
		t.Fatal("CONTRIBUTING.md shows no record")
	}
	var f groupFile
	d := yaml.NewDecoder(strings.NewReader(record))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		t.Fatal(err)
	}
	_, kinds, _ := strings.Cut(record, "kinds:\n")
	b := with(t, "kinds:\n"+strings.ReplaceAll(kinds, "- kind:", "- group: "+f.Group+"\n  kind:"))
	zebra, known := b.Kind(f.Group, "Zebra")
	if !known || zebra.Rung != Workloads || len(zebra.References) != 3 {
		t.Errorf("the record says %+v", zebra)
	}
}

func TestNothingSaidChangesNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "null\n"} {
		if b, err := Default().With("ladder.yaml", text); b != Default() || err != nil {
			t.Errorf("%q makes %p, %v, want %p", text, b, err, Default())
		}
	}
}

func TestOverrideFieldByField(t *testing.T) {
	ours, _ := Default().Kind("cert-manager.io", "Certificate")
	b := with(t, `
kinds:
- group: cert-manager.io
  kind: Certificate
  rung: configs
  references:
  - {at: spec.secretName, to: Secret, meaning: known, why: may write}
  - {at: spec.teamRef, to: [Team, Issuer, Namespace], meaning: exists, why: belongs to, source: a wiki}
- {group: cert-manager.io, kind: Team}
`, `
kinds:
- {group: cert-manager.io, kind: Certificate, why: is late here, health: []}
`)
	k, _ := b.Kind("cert-manager.io", "Certificate")
	if k.Rung != "configs" || k.Why != "is late here" || !k.RungChanged || k.Scope != ours.Scope || len(k.Health) != 0 ||
		k.Source != "b.yaml:3" || !slices.Equal(k.ChangedBy, []string{"a.yaml:3", "b.yaml:3"}) {
		t.Errorf("got %+v", k)
	}
	var refs []string
	for _, r := range k.References {
		refs = append(refs, fmt.Sprintf("%s %s %v %s", r.At, r.Meaning, r.To, r.Source))
	}
	slices.Sort(refs)
	want := []string{
		"spec.issuerRef healthy [Issuer.cert-manager.io ClusterIssuer.cert-manager.io] " + ours.Source,
		"spec.keystores.jks.passwordSecretRef exists [Secret] " + ours.Source,
		"spec.keystores.pkcs12.passwordSecretRef exists [Secret] " + ours.Source,
		"spec.secretName known [Secret] a.yaml:3",
		"spec.teamRef exists [Team.cert-manager.io Issuer.cert-manager.io Namespace] a wiki",
	}
	if diff := gocmp.Diff(want, refs); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	// What was there is as it was, also for those who asked before.
	if again, _ := Default().Kind("cert-manager.io", "Certificate"); !gocmp.Equal(ours, again, sameKind) || len(again.ChangedBy) > 0 {
		t.Errorf("the built-in record became %+v", again)
	}
}

// TestOverrideOne lays one record over what is built in.
func TestOverrideOne(t *testing.T) {
	ours, _ := Default().Kind("apiextensions.k8s.io", "CustomResourceDefinition")
	defines := ours.Defines[0]
	tests := []struct {
		record, group, kind string
		want                string // rung, scope, moved, why
	}{
		{"{group: zoo.example.com, kind: Zebra}", "zoo.example.com", "Zebra",
			"workloads namespaced false custom resources of an unknown kind are treated as workloads"},
		{"{group: zoo.example.com, kind: Zebra, rung: workloads}",
			"zoo.example.com", "Zebra", "workloads namespaced false is assigned to this rung by a.yaml:1"},
		{"{group: zoo.example.com, kind: Zebra, rung: configs, why: grazes}", "zoo.example.com", "Zebra", "configs namespaced true grazes"},
		{"{group: zoo.example.com, kind: Zebra}", "zoo.example.com", "Lion", "unknown"},
		{`{group: zoo.example.com, kind: "*", scope: cluster}`,
			"zoo.example.com", "Lion", "workloads cluster false custom resources of an unknown kind are treated as workloads"},
		{`{group: zoo.example.com, kind: "*", scope: cluster}`,
			"zoo.example.com", "LionClass", "configs cluster false classes are named by the objects of the class"},
		{`{group: "*.example.com", kind: "*", rung: crds, why: starts all}`, "zoo.example.com", "Lion", "crds namespaced true starts all"},
		{"{group: cert-manager.io, kind: ClusterIssuer, scope: namespaced}",
			"cert-manager.io", "ClusterIssuer", "secrets namespaced false signs certificates"},
		{"{group: s3.aws.upbound.io, kind: Bucket, rung: configs}",
			"s3.aws.upbound.io", "Bucket", "configs cluster true is assigned to this rung by a.yaml:1"},
		{"{group: s3.aws.upbound.io, kind: Bucket, rung: configs}",
			"s3.aws.upbound.io", "Object", "workloads cluster false is a resource in AWS"},
		{"{group: apps, kind: Deployment, rung: workloads}", "apps", "Deployment", "workloads namespaced false runs Pods"},
		{`{group: "", kind: Secret, rung: configs, why: holds no secret}`, "", "Secret", "configs namespaced true holds no secret"},
		{"{group: apiextensions.k8s.io, kind: CustomResourceDefinition, defines: {kind: x}}",
			"apiextensions.k8s.io", "CustomResourceDefinition", "crds cluster false defines a kind"},
	}
	for _, tt := range tests {
		got := "unknown"
		if k, ok := with(t, "kinds: ["+tt.record+"]").Kind(tt.group, tt.kind); ok {
			scope := k.Scope
			if scope == "" {
				scope = namespaced
			}
			got = fmt.Sprintf("%s %s %v %s", k.Rung, scope, k.RungChanged, k.Why)
		}
		if got != tt.want {
			t.Errorf("%s makes of %s/%s\n%s, want\n%s", tt.record, tt.group, tt.kind, got, tt.want)
		}
	}
	if !gocmp.Equal(ours.Defines[0], defines, sameKind) {
		t.Error("a record wrote into the built-in one")
	}
}

func TestMoveRungs(t *testing.T) {
	b := with(t, "rungs: [{name: secrets, wave: 12}, {name: controllers, wave: 11}]",
		"rungs: [{name: controllers, wave: 9}, {name: crds, wave: 8, why: first}]")
	var got []string
	for _, r := range b.Rungs() {
		one, _ := b.Rung(r.Name)
		if one != r {
			t.Errorf("rung %s is %v and %v", r.Name, r, one)
		}
		got = append(got, fmt.Sprintf("%s %d", r.Name, r.Wave))
	}
	want := "namespaces 0, crds 8, controllers 9, secrets 12, configs 40, workloads 50, bootstraps 55, exposure 60, smokes 99"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s", strings.Join(got, ", "))
	}
	if r, _ := b.Rung("crds"); r.Why != "first" {
		t.Errorf("why is %q", r.Why)
	}
	if r, _ := Default().Rung("secrets"); r.Wave != 30 {
		t.Errorf("the built-in rung moved to %d", r.Wave)
	}
}

func TestMoreWords(t *testing.T) {
	b := with(t, "smokes: {words: [probe], labels: [purpose]}", "migrations: [uplift]\nsmokes: {words: [sniff]}")
	objs, err := object.Parse("", 0, "{apiVersion: batch/v1, kind: Job, metadata: {name: web-probe}}\n---\n"+
		"{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {purpose: sniff}}}\n---\n"+
		"{apiVersion: batch/v1, kind: Job, metadata: {name: a-test}}")
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range objs {
		if b.Smoke(o, false) == "" || (Default().Smoke(o, false) != "") != (i == 2) {
			t.Errorf("%s: %q, without the files %q", o.ID, b.Smoke(o, false), Default().Smoke(o, false))
		}
	}
	if b.Migration("db-uplift") != "uplift" || b.Migration("db-migrate") == "" || Default().Migration("db-uplift") != "" {
		t.Error("words for migrations do not add up")
	}
}

func TestConventionsGoFirst(t *testing.T) {
	b := with(t, "conventions: [{key: secretName, to: ConfigMap, meaning: known, why: lies about}]",
		`conventions: [{key: "grain*", name: kind, to: Secret, meaning: exists, why: grinds}]`)
	all := b.Conventions()
	if len(all) != len(Default().Conventions())+2 || all[0].Key != "grain*" || all[1].Source != "a.yaml:1" {
		t.Errorf("got %+v", all[:2])
	}
}

// TestWithIsLazy looks which groups are decoded for the sake of a ladder.yaml:
// those that somebody asks for.
func TestWithIsLazy(t *testing.T) {
	b := *Default()
	var loaded []string
	b.groups = map[string]group{}
	for name, g := range Default().groups {
		b.groups[name] = func() *groupFile {
			loaded = append(loaded, name)
			return g()
		}
	}
	over, err := b.With("ladder.yaml", `
kinds:
- {group: cert-manager.io, kind: Issuer, rung: configs}
- {group: kafka.strimzi.io, kind: Kafka, rung: configs, references: [{at: spec.x, to: KafkaNodePool, meaning: exists, why: needs}]}
- {group: zoo.example.com, kind: Zebra}
`)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(loaded, []string{"kafka.strimzi.io"}) { // whose kind is to be told from one of core
		t.Errorf("adding loaded %q", loaded)
	}
	over.Kind("cert-manager.io", "Issuer")
	over.Kind("cert-manager.io", "Certificate")
	if loaded = slices.Compact(loaded); !slices.Equal(loaded, []string{"kafka.strimzi.io", "cert-manager.io"}) {
		t.Errorf("loaded %q", loaded)
	}
}

// TestShared lets many ask at once; the race detector looks on.
func TestShared(t *testing.T) {
	b := with(t, "kinds: [{group: cert-manager.io, kind: Issuer, rung: configs}]\nsmokes: {words: [probe]}")
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			over, err := b.With("b.yaml",
				fmt.Sprintf("kinds: [{group: cert-manager.io, kind: Issuer, why: reason %d}]\nmigrations: [w%d]\nsmokes: {words: [s%d]}", i, i, i))
			if err != nil {
				t.Error(err)
				return
			}
			k, _ := over.Kind("cert-manager.io", "Issuer")
			if want := fmt.Sprintf("reason %d", i); k.Why != want || k.Rung != "configs" {
				t.Errorf("got %q on %s", k.Why, k.Rung)
			}
			if over.Migration(fmt.Sprintf("w%d", (i+1)%8)) != "" {
				t.Error("words of one file are in another")
			}
		})
	}
	wait.Wait()
}

// TestHostileAliases gives files that would grow without bounds.
func TestHostileAliases(t *testing.T) {
	many := func(s string, n int) string { return "[" + strings.TrimSuffix(strings.Repeat(s+", ", n), ", ") + "]" }
	bomb := "kinds:\n- group: a.example.com\n  kind: A\n  health:\n  - waits: x\n    when:\n    - &w {at: a, in: &i " +
		many("x", 1000) + "}\n" +
		strings.Repeat("    - *w\n", 2000)
	if _, err := Default().With("ladder.yaml", bomb); err == nil || !strings.Contains(err.Error(), "use fewer aliases") {
		t.Errorf("error is %.300v", err)
	}
	for _, text := range []string{"kinds: &a [*a]", "kinds: &a [{group: b, kind: c, references: *a}]",
		"&a rungs: *a", "smokes: &a {words: [*a]}"} {
		if _, err := Default().With("ladder.yaml", text); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

// BenchmarkWith measures what a ladder.yaml of a few records costs a rendering.
func BenchmarkWith(b *testing.B) {
	k, _ := Default().Kind("cert-manager.io", "Certificate")
	text := "rungs: [{name: secrets, wave: 31}]\n" + YAML([]Kind{k})
	for b.Loop() {
		over, err := Default().With("ladder.yaml", text)
		if err != nil {
			b.Fatal(err)
		}
		over.Kind("cert-manager.io", "Certificate")
	}
}
