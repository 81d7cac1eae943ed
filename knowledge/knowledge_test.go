package knowledge

import (
	"regexp"
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
	products := map[string]bool{}
	for name, g := range b.groups {
		f := g()
		if f.Group != name {
			t.Errorf("kinds/%s.yaml says it is about group %q", name, f.Group)
		}
		if !strings.HasPrefix(f.Source, "https://") {
			t.Errorf("kinds/%s.yaml has no source", name)
		}
		if f.Product == "" || f.Builtin && f.Product != "Kubernetes" {
			t.Errorf("kinds/%s.yaml says it is about product %q", name, f.Product)
		}
		products[f.Product] = true
		all = append(all, f.Kinds...)
	}
	if len(all) < 900 || len(products) < 100 {
		t.Errorf("only %d kinds of %d products", len(all), len(products))
	}
	return all
}

func TestEveryFactGivesItsReason(t *testing.T) {
	b := Default()
	withHealth := 0
	for _, k := range allKinds(t) {
		if len(k.Health) > 0 {
			withHealth++
		}
		name := GroupKind{k.Group, k.Kind}.String()
		if _, ok := b.Rung(k.Rung); !ok {
			t.Errorf("%s: there is no rung %q", name, k.Rung)
		}
		if k.Why == "" || k.Source == "" {
			t.Errorf("%s: says on which rung it stands, but not why or from where that is known", name)
		}
		if !slices.Contains([]string{"", "cluster"}, k.Scope) || !slices.Contains([]string{"", "once", "later"}, k.Runs) ||
			!slices.Contains([]string{"", "role", "binding"}, k.Permissions) || !slices.Contains([]string{"", WithConsumer, First}, k.Placement) {
			t.Errorf("%s: scope %q, runs %q, rights %q or place %q means nothing", name, k.Scope, k.Runs, k.Permissions, k.Placement)
		}
		for _, h := range k.Health {
			if h.Waits == "" && !h.Healthy {
				t.Errorf("%s: health without what it waits for", name)
			}
			if h.Never != "" && h.TemporarilyDegraded != "" {
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
	// Argo CD v3.5.7 checks 251 kinds; more have a record where a check is
	// about all kinds of a group.
	if withHealth < 251 {
		t.Errorf("only %d kinds have a health record", withHealth)
	}
	for _, r := range b.Rungs() {
		if r.Why == "" {
			t.Errorf("rung %s: no reason", r.Name)
		}
	}
}

// TestEitherHealthOrSees: what Argo CD checks itself needs no check of ours,
// and would be replaced by it, unless its check says Degraded in a normal start.
func TestEitherHealthOrSees(t *testing.T) {
	path := regexp.MustCompile(`^status(\.[a-zA-Z]+)+$`)
	word := regexp.MustCompile(`^[A-Za-z.-]+( [a-z]+)*$`)
	all := allKinds(t)
	withSees := 0
	for _, k := range all {
		name := GroupKind{k.Group, k.Kind}.String()
		s := k.Status
		if s == nil {
			continue
		}
		withSees++
		if len(k.Health) > 0 && !slices.ContainsFunc(k.Health, func(h Health) bool { return h.TemporarilyDegraded != "" }) {
			t.Errorf("%s: Argo CD has a health check for it that needs no other, and still there is a sees record", name)
		}
		if Default().Builtin(k.Group) {
			t.Errorf("%s: kinds of Kubernetes have no sees record", name)
		}
		if len(s.Healthy) == 0 || !strings.HasPrefix(s.Source, "https://") {
			t.Errorf("%s: sees nothing that makes it healthy, or gives no source", name)
		}
		if s.Generation != "" && s.Generation != OfCondition && !path.MatchString(s.Generation) || s.Under != "" && !path.MatchString(s.Under) {
			t.Errorf("%s: generation %q or under %q is no path below status", name, s.Generation, s.Under)
		}
		for _, sign := range s.Signs() {
			if (sign.Condition == "") == (sign.At == "") ||
				sign.At != "" && (!path.MatchString(sign.At) || len(sign.Is) == 0 || len(sign.Reason) > 0 || s.Under != "") {
				t.Errorf("%s: a sign is a condition, or a value below status and what it is: %+v", name, sign)
			}
			for _, v := range slices.Concat(sign.Values(), sign.Reason, []string{sign.Condition + sign.At}) {
				if !word.MatchString(v) {
					t.Errorf("%s: %q does not look like a value of a status", name, v)
				}
			}
		}
	}
	if withSees < 150 {
		t.Errorf("only %d kinds have a sees record", withSees)
	}
	if len(Default().KindsWithStatus()) < 150 {
		t.Errorf("only %d kinds are seen", len(Default().KindsWithStatus()))
	}
}

// TestChecksOfWholeGroups: a check of Argo CD's for all kinds of a group is
// also about those with a record of their own, which goes before the group's.
func TestChecksOfWholeGroups(t *testing.T) {
	whole := map[string]bool{}
	all := allKinds(t)
	for _, k := range all {
		whole[k.Group] = whole[k.Group] || k.Kind == anything && len(k.Health) > 0
	}
	for _, k := range all {
		if whole[k.Group] && !strings.HasPrefix(k.Group, anything) && len(k.Health) == 0 {
			t.Errorf("%s.%s has no health record, but Argo CD checks all kinds of the group", k.Kind, k.Group)
		}
	}
}

func checkReference(t *testing.T, kind string, r Reference) {
	t.Helper()
	where := kind + " " + r.At.String() + r.Named
	if !r.hasOneTarget() {
		t.Errorf("%s: a reference has one of a path, a name and every", where)
	}
	if r.Why == "" || r.Source == "" {
		t.Errorf("%s: no reason or no source", where)
	}
	if len(r.To) == 0 {
		t.Errorf("%s: refers to nothing", where)
	}
	if !slices.Contains([]Meaning{Exists, Healthy, Produces, With, NoOrder}, r.Meaning) {
		t.Errorf("%s: meaning %q means nothing", where, r.Meaning)
	}
	if r.Namespace != "" && r.Namespace != "any" && (r.Namespace != "every" || r.Meaning != Produces) {
		t.Errorf("%s: namespace %q means nothing", where, r.Namespace)
	}
	checkTargets(t, where, r.To)
}

// checkTargets finds kinds whose group was forgotten, and misspelt kinds.
func checkTargets(t *testing.T, where string, targets Targets) {
	t.Helper()
	for _, to := range targets {
		if f := Default().file(to.Group); to.Group == "" && f.byKind[to.Kind] == nil {
			t.Errorf("%s: %s is neither a kind of its own file nor a core kind; write its group", where, to.Kind)
		} else if f != nil && f.byKind[to.Kind] == nil {
			t.Errorf("%s: %s is not among the kinds of %s", where, to.Kind, to.Group)
		}
	}
}

func TestConventions(t *testing.T) {
	all := Default().Conventions()
	if len(all) < 20 {
		t.Errorf("only %d conventions", len(all))
	}
	seen := map[string]bool{}
	for _, c := range all {
		if c.Why == "" || !strings.HasPrefix(c.Source, "https://") {
			t.Errorf("%s: no reason or no source", c.Key)
		}
		if c.Meaning != Exists && c.Meaning != Produces {
			t.Errorf("%s: meaning %q cannot be inferred from a key alone", c.Key, c.Meaning)
		}
		if len(c.To) == 0 {
			t.Errorf("%s: refers to nothing", c.Key)
		}
		checkTargets(t, c.Key, c.To)
		if strings.Contains(strings.Trim(c.Key, "*"), "*") || strings.Trim(c.Key, "*") == "" || seen[c.Key] {
			t.Errorf("%s: no key, or there twice", c.Key)
		}
		seen[c.Key] = true
	}
	first := func(key string) string {
		for _, c := range all {
			if c.Fits(key) {
				return c.Key
			}
		}
		return ""
	}
	for key, want := range map[string]string{
		"secretKeyRef":          "secretKeyRef",
		"tokenSecretRef":        "*SecretRef",
		"secretRef":             "secretRef",
		"existingTlsSecretName": "*SecretName",
		"secretName":            "secretName",
		"SecretRefs":            "",
		"name":                  "",
	} {
		if got := first(key); got != want {
			t.Errorf("%s: the convention %q fits, want %q", key, got, want)
		}
	}
	if (Convention{Key: "secret*"}).Fits("topsecret") || !(Convention{Key: "secret*"}).Fits("secretName") {
		t.Error("a star at the end is not about beginnings")
	}
}

// TestWildcards looks at groups and kinds that no file or record names.
func TestWildcards(t *testing.T) {
	tests := []struct {
		group, kind string
		source      string // a word of it
		scope, rung string
	}{
		{"s3.aws.upbound.io", "Bucket", "upjet-aws", "cluster", "workloads"},                   // *.aws.upbound.io
		{"s3.aws.m.upbound.io", "Bucket", "upjet-aws", "", "workloads"},                        // *.aws.m.upbound.io, not *.upbound.io
		{"vault.upbound.io", "Mount", "upbound", "", "workloads"},                              // *.upbound.io, any kind
		{"vault.upbound.io", "ProviderConfig", "upbound", "cluster", "configs"},                // *.upbound.io, this kind
		{"s3.aws.crossplane.io", "Bucket", "provider-aws", "", "workloads"},                    // the group itself
		{"s3.aws.crossplane.io", "BucketPolicy", "provider-aws", "cluster", "workloads"},       // the group has a file without the kind
		{"pkg.crossplane.io", "Provider", "crossplane", "cluster", "controllers"},              // the group itself
		{"constraints.gatekeeper.sh", "K8sRequiredLabels", "gatekeeper", "cluster", "configs"}, // any kind of one group
	}
	for _, tt := range tests {
		k, ok := Default().Kind(tt.group, tt.kind)
		if !ok || k.Group != tt.group || k.Kind != tt.kind || k.Scope != tt.scope || k.Rung != tt.rung || !strings.Contains(k.Source, tt.source) {
			t.Errorf("%s.%s: found %v: group %q, kind %q, scope %q, rung %q, source %s",
				tt.kind, tt.group, ok, k.Group, k.Kind, k.Scope, k.Rung, k.Source)
		}
	}
	for _, gk := range []GroupKind{{"upbound.io", "Mount"}, {"crossplane.io", "Thing"}, {"io", "Thing"}, {"", "Thing"},
		{"notupbound.io", "Mount"}, {"metallb.io", "Thing"}} {
		if k, ok := Default().Kind(gk.Group, gk.Kind); ok {
			t.Errorf("%s was found: %s", gk, k.Why)
		}
	}
}

// TestLoadingIsLazy asks for one kind and looks which files that decodes.
func TestLoadingIsLazy(t *testing.T) {
	b := *Default()
	var loaded []string
	groups := map[string]group{}
	for name, g := range b.groups {
		groups[name] = func() *groupFile {
			loaded = append(loaded, name)
			return g()
		}
	}
	b.groups = groups
	for _, gk := range []GroupKind{{"kafka.strimzi.io", "Kafka"}, {"ec2.aws.upbound.io", "VPC"}, {"zoo.example.com", "Zebra"}} {
		b.Kind(gk.Group, gk.Kind)
	}
	if want := []string{"kafka.strimzi.io", "*.aws.upbound.io"}; !slices.Equal(loaded, want) {
		t.Errorf("loaded %q, want %q", loaded, want)
	}
}

func TestRungsAscend(t *testing.T) {
	ladder := Default().Rungs()
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
		{"{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: a}}", true, false},
		{"{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: a}, spec: {strategy: {canary: {steps: [{setWeight: 20}]}}}}",
			true, false},
		{"{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: a}, spec: {strategy: {canary: {steps: [{pause: {}}]}}}}",
			true, true},
		{"{apiVersion: kubevirt.io/v1, kind: VirtualMachine, metadata: {name: a}, spec: {runStrategy: Halted}}", false, false},
		// Whether somebody approves it, package graph finds in the component.
		{"{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: a}, spec: {installPlanApproval: Manual}}",
			true, false},
		{"{apiVersion: sqs.aws.upbound.io/v1beta1, kind: Queue, metadata: {name: a}}", true, false},
		{"{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: a}}", false, false},
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
		p, err := parsePath(path)
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
		if p, err := parsePath(bad); err == nil {
			t.Errorf("%q was read as a path: %v", bad, p)
		}
	}
}
