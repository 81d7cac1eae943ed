package wave_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// TestSubscriptionsOfExperts orders the real components with a Subscription, without
// their owners' waves, and holds that each can finish. What it asks of the order it
// reads from the objects itself.
func TestSubscriptionsOfExperts(t *testing.T) {
	tried := 0
	golden.Experts(t, func(t *testing.T, text string) {
		if !strings.Contains(text, "operators.coreos.com/") || !strings.Contains(text, "kind: Subscription") {
			return
		}
		tried++
		plan := planOf(t, text)
		objs, err := plan.Annotate()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range plan.Check(knowledge.Default()) {
			if f.Severity == finding.Error {
				t.Errorf("it cannot finish: %s", f)
			}
		}
		for _, s := range objs {
			if s.ID.Group == olm && s.ID.Kind == "Subscription" {
				subscriptionFinishes(t, s, objs)
			}
		}
	})
	t.Logf("%d components with a Subscription", tried)
}

const olm = "operators.coreos.com"

// subscriptionFinishes holds that nothing that a Subscription waits for comes after it,
// and no custom resource that no definition is there for before it.
func subscriptionFinishes(t *testing.T, s object.Object, objs []object.Object) {
	t.Helper()
	at, _ := s.Wave()
	last := slices.MaxFunc(objs, func(a, b object.Object) int { return waveNumber(a) - waveNumber(b) })
	for _, o := range objs {
		wave := waveNumber(o)
		switch {
		case at == waveNumber(last): // nothing waits for it
		case o.ID.Group == olm && o.ID.Kind == "OperatorGroup" && o.ID.Namespace == s.ID.Namespace && wave > at:
			t.Errorf("%s comes after %s", o.ID, s.ID)
		case o.ID.Group == olm && o.ID.Kind == "CatalogSource" && o.ID.Name == s.Get("spec", "source").Text() && wave >= at:
			t.Errorf("%s comes not before %s", o.ID, s.ID)
		}
		if isForeign(o, objs) && wave <= at && at != waveNumber(last) {
			t.Errorf("%s comes not after %s", o.ID, s.ID)
		}
	}
}

func waveNumber(o object.Object) int {
	wave, _ := o.Wave()
	return wave
}

// isForeign reports whether the kind of an object is none of Kubernetes, OpenShift,
// Argo CD or OLM, and the component does not define it.
func isForeign(o object.Object, objs []object.Object) bool {
	group := o.ID.Group
	if !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".openshift.io") ||
		strings.HasSuffix(group, "coreos.com") || group == "argoproj.io" || o.IsHook() {
		return false
	}
	return !slices.ContainsFunc(objs, func(d object.Object) bool {
		return d.ID.Kind == "CustomResourceDefinition" && strings.HasSuffix(d.ID.Name, "."+group)
	})
}
