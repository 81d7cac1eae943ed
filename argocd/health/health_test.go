package health_test

import (
	"cmp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/argocd/health"
	"github.com/ladder-cmp/ladder/knowledge"
)

// run executes a check as Argo CD does.
func run(t *testing.T, script string, obj map[string]any) (status, message string) {
	t.Helper()
	status, message, err := health.Run(t.Context(), script, obj)
	if err != nil {
		t.Fatalf("%v in\n%s", err, script)
	}
	return status, message
}

// object builds an object of generation 2 whose status shows the signs, and
// was written of the generation observed; 0 leaves that out.
func object(s knowledge.Status, signs []knowledge.Sign, observed int) map[string]any {
	obj := map[string]any{"metadata": map[string]any{"generation": 2}, "status": map[string]any{}}
	var conditions []any
	for _, sign := range signs {
		if sign.At != "" {
			set(obj, sign.At, truth(sign.Values()[0]))
			continue
		}
		c := map[string]any{"type": sign.Condition, "status": sign.Values()[0], "message": "as the operator says"}
		if len(sign.Reason) > 0 {
			c["reason"] = sign.Reason[0]
		}
		if s.Generation == knowledge.OfCondition && observed > 0 {
			c["observedGeneration"] = observed
		}
		conditions = append(conditions, c)
	}
	switch {
	case conditions == nil:
	case s.Under != "":
		set(obj, s.Under, []any{map[string]any{"conditions": conditions}})
	default:
		set(obj, "status.conditions", conditions)
	}
	if s.Generation != "" && s.Generation != knowledge.OfCondition && observed > 0 {
		set(obj, s.Generation, observed)
	}
	return obj
}

// truth is a value as the status has it: true is a boolean there.
func truth(text string) any {
	if text == "true" {
		return true
	}
	return text
}

func set(into map[string]any, path string, v any) {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		next, ok := into[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			into[key] = next
		}
		into = next
	}
	into[keys[len(keys)-1]] = v
}

// TestEveryCheck runs the check of every kind on objects that its record tells
// of.
func TestEveryCheck(t *testing.T) {
	kinds := knowledge.Default().KindsWithStatus()
	bucket, ok := knowledge.Default().Kind("s3.services.k8s.aws", "Bucket")
	if !ok || bucket.Status == nil {
		t.Error("a record about all groups with an ending is not found")
	}
	for _, k := range append(kinds, bucket) {
		t.Run(k.Group+"_"+k.Kind, func(t *testing.T) {
			s := *k.Status
			script := health.Script(s)
			expect := func(what string, obj map[string]any, want string) {
				t.Helper()
				status, message := run(t, script, obj)
				if status != want || message == "" || message == "nil" {
					t.Errorf("%s: %s (%s), want %s", what, status, message, want)
				}
			}
			expect("no status", map[string]any{"metadata": map[string]any{"generation": 1}}, "Progressing")
			expect("an empty status", object(s, nil, 0), "Progressing")
			expect("healthy", object(s, s.Healthy, 2), "Healthy")
			expect("healthy, of no generation", object(s, s.Healthy, 0), "Healthy")
			if s.Generation != "" {
				expect("healthy, of an old generation", object(s, s.Healthy, 1), "Progressing")
			}
			for _, try := range []struct {
				status string
				signs  []knowledge.Sign
			}{{"Progressing", s.Progressing}, {"Degraded", s.Degraded}, {"Suspended", s.Suspended}} {
				for _, sign := range try.signs {
					for _, v := range sign.Values() {
						one := sign
						one.Is = []string{v}
						expect(try.status+" by "+cmp.Or(sign.Condition, sign.At)+" "+v, object(s, []knowledge.Sign{one}, 2), try.status)
						if s.Generation != "" {
							expect("the same of an old generation", object(s, []knowledge.Sign{one}, 1), "Progressing")
						}
					}
				}
			}
			// Any other value is one that has still to change.
			for i, sign := range s.Healthy {
				others := append([]knowledge.Sign(nil), s.Healthy...)
				others[i].Is = []string{"something else"}
				expect("healthy but for "+cmp.Or(sign.Condition, sign.At), object(s, others, 2), "Progressing")
			}
		})
	}
}

// TestUnder looks at conditions below the entries of a list.
func TestUnder(t *testing.T) {
	s := knowledge.Status{Under: "status.parents", Healthy: []knowledge.Sign{{Condition: "Accepted"}}}
	entry := func(status string) any {
		return map[string]any{"conditions": []any{map[string]any{"type": "Accepted", "status": status}}}
	}
	for _, tt := range []struct {
		parents []any
		want    string
	}{
		{nil, "Progressing"},
		{[]any{}, "Progressing"},
		{[]any{entry("True")}, "Healthy"},
		{[]any{entry("True"), entry("True")}, "Healthy"},
		{[]any{entry("True"), entry("False")}, "Progressing"},
		{[]any{entry("True"), map[string]any{}}, "Progressing"},
	} {
		obj := map[string]any{"metadata": map[string]any{}, "status": map[string]any{"parents": tt.parents}}
		if status, message := run(t, health.Script(s), obj); status != tt.want {
			t.Errorf("%v: %s (%s), want %s", tt.parents, status, message, tt.want)
		}
	}
}

// TestNoWayOut puts names into a manifest that would break out of the key.
func TestNoWayOut(t *testing.T) {
	s := &knowledge.Status{Healthy: []knowledge.Sign{{Condition: "Ready"}}}
	for _, name := range []string{"A: |\n  b", "A\nB", "A b", "\"A\"", "#"} {
		checks := health.Checks([]knowledge.Kind{{Group: "s3.services.k8s.aws", Kind: name, Status: s}, {Group: name, Kind: "Bucket", Status: s}})
		if len(checks) > 0 {
			t.Errorf("%q becomes a key: %q", name, checks[0].Key)
		}
	}
}

// TestManifests reads what is printed the way Argo CD and Helm do.
func TestManifests(t *testing.T) {
	checks := health.Checks(knowledge.Default().KindsWithStatus())
	var cm struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name   string            `json:"name"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
		Data map[string]string `json:"data"`
	}
	text := health.ConfigMap(checks)
	if err := yaml.Unmarshal([]byte(text), &cm); err != nil {
		t.Fatal(err)
	}
	if cm.Kind != "ConfigMap" || cm.Metadata.Name != "argocd-cm" || cm.Metadata.Labels["app.kubernetes.io/part-of"] != "argocd" {
		t.Errorf("the manifest is not Argo CD's ConfigMap: %+v", cm.Metadata)
	}
	// The API server takes no larger ConfigMap (validation of k8s.io/kubernetes).
	if len(text) > 1<<20 {
		t.Errorf("all checks together are %d bytes", len(text))
	}
	var values struct {
		Configs struct {
			CM map[string]string `json:"cm"`
		} `json:"configs"`
	}
	if err := yaml.Unmarshal([]byte(health.Values(checks)), &values); err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if cm.Data[c.Key] != c.Script || values.Configs.CM[c.Key] != c.Script {
			t.Errorf("%s does not come out as it went in", c.Key)
		}
	}
	if len(cm.Data) != len(checks) || len(values.Configs.CM) != len(checks) {
		t.Errorf("%d checks, %d and %d printed", len(checks), len(cm.Data), len(values.Configs.CM))
	}
}
