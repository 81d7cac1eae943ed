package real_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ladder-cmp/ladder/e2e/cluster"
)

// A habit is what a program did, according to the audit log, that no manifest shows.
type habit struct {
	account string // ServiceAccount, as namespace/name
	does    string // one of the verbs below
	object  string // such as Secret keda/kedaorg-certs
	name    string // of the object
}

const (
	writes    = "writes"    // a Secret or ConfigMap that no manifest has
	installs  = "installs"  // a definition, webhook configuration or API that no manifest has
	completes = "completes" // one that is in the manifests, such as its CA
	misses    = "misses"    // reads a Secret or ConfigMap that is not there, and goes on or tries again
)

// kinds are the resources that habits are about.
var kinds = map[string]string{
	"secrets": "Secret", "configmaps": "ConfigMap",
	"customresourcedefinitions": "CustomResourceDefinition", "apiservices": "APIService",
	"mutatingwebhookconfigurations": "MutatingWebhookConfiguration", "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
}

const accountPrefix = "system:serviceaccount:"

// observe writes down what the programs of a case did since a moment, beside what Ladder
// knows of them.
func (l *lab) observe(ctx context.Context, t *testing.T, c prepared, since cluster.Mark) {
	t.Helper()
	habits, err := l.habits(since, c.plain)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.propose(ctx, c.dir, habits); err != nil {
		t.Fatal(err)
	}
}

// habits reads what the programs of a case did since a moment, each once, by account.
func (l *lab) habits(after cluster.Mark, m manifests) ([]habit, error) {
	events, err := l.node.Events(cluster.Filter{After: after, Resources: slices.Collect(maps.Keys(kinds)), Reads: true, Refused: true})
	if err != nil {
		return nil, err
	}
	var all []habit
	for _, e := range events {
		account, is := strings.CutPrefix(e.User, accountPrefix)
		if !is || strings.HasPrefix(account, "kube-system:") || e.Name == "" {
			continue
		}
		h := habit{account: strings.Replace(account, ":", "/", 1), name: e.Name,
			object: kinds[e.Resource] + " " + strings.TrimPrefix(e.Namespace+"/"+e.Name, "/")}
		if h.does = doing(e, m.has(kinds[e.Resource], e.Name)); h.does != "" && !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, func(a, b habit) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.does, b.does), cmp.Compare(a.object, b.object))
	})
	return all, nil
}

// doing returns the habit that a request shows, if any.
func doing(e cluster.Event, inManifests bool) string {
	content := e.Resource == "secrets" || e.Resource == "configmaps"
	switch {
	case e.Verb == "get" && e.Code == 404 && content:
		return misses
	case e.IsRead() || !e.OK() || e.Verb == "delete":
		return ""
	case content && !inManifests:
		return writes
	case content:
		return ""
	case inManifests:
		return completes
	}
	return installs
}

func (m manifests) has(kind, name string) bool {
	return slices.ContainsFunc(m, func(obj *unstructured.Unstructured) bool { return obj.GetKind() == kind && obj.GetName() == name })
}

// explained is an object as "cmp explain -o json" has it, as far as it is read.
type explained struct {
	Kind, Namespace, Name string
	References            []struct{ To, Why string }
}

// propose writes what was seen of a case's programs beside what Ladder knows of it:
// where an object of the case needs what a program writes, and no reference says so, a
// record is missing.
func (c component) propose(ctx context.Context, dir string, habits []habit) error {
	text, err := c.ask(ctx, "explain", dir, "-o", "json")
	if err != nil {
		return err
	}
	var about struct{ Objects []explained }
	if err := json.Unmarshal(text, &about); err != nil {
		return fmt.Errorf("explaining %s: %w", c.name, err)
	}
	var b strings.Builder
	for _, h := range habits {
		fmt.Fprintf(&b, "%s: ServiceAccount %s %s %s", c.name, h.account, h.does, h.object)
		if known := h.known(about.Objects); len(known) > 0 {
			fmt.Fprintf(&b, ", which Ladder knows: %s", strings.Join(known, "; "))
		}
		b.WriteByte('\n')
	}
	return os.WriteFile(filepath.Join(shop.dir, c.name+".observed.txt"), []byte(b.String()), 0o644)
}

// known are the references that name what a habit is about.
func (h habit) known(objs []explained) []string {
	var all []string
	for _, obj := range objs {
		for _, ref := range obj.References {
			for _, word := range strings.FieldsFunc(ref.To+" "+ref.Why, func(r rune) bool { return r == ' ' || r == '/' || r == ',' }) {
				if word == h.name {
					all = append(all, fmt.Sprintf("%s %s %s %s", obj.Kind, obj.Name, ref.Why, ref.To))
					break
				}
			}
		}
	}
	return slices.Compact(all)
}
