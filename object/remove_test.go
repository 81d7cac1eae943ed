package object

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithout(t *testing.T) {
	paths := [][]string{{"metadata", "namespace"}, {"spec", "preserveUnknownFields"}, {"status"}}
	tests := []struct{ name, text, want string }{
		{"nothing to take", "kind: A\napiVersion: v1\nmetadata:\n  name: a # here\n", "kind: A\napiVersion: v1\nmetadata:\n  name: a # here\n"},
		{"block", `apiVersion: v1
kind: A # a kind
metadata:
  # who
  name: a
  namespace: b # where
  labels: {c: d}
spec:
  preserveUnknownFields: false

  # what
  names: |
    status:
status:
  conditions:
  - type: Ready
  stored: [v1]
# the end
`, `apiVersion: v1
kind: A # a kind
metadata:
  # who
  name: a
  labels: {c: d}
spec:

  # what
  names: |
    status:
# the end
`},
		{"null", "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  namespace:\n", "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n"},
		{"flow", "{apiVersion: v1, kind: A, metadata: {name: a, namespace: b}, status: {c: d}}\n",
			"{apiVersion: v1, kind: A, metadata: {name: a}}\n"},
		{"written twice", "apiVersion: v1\nkind: A\nstatus: {}\nmetadata:\n  name: a\nstatus:\n  c: d\n",
			"apiVersion: v1\nkind: A\nmetadata:\n  name: a\n"},
		{"anchors", "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  namespace: &ns b\n  labels:\n    in: *ns\n",
			"apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  labels:\n    in: b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objs, err := Parse("a.yaml", 1, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := objs[0].Without(paths...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Text()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.ID.Namespace != "" {
				t.Errorf("it still is in namespace %s", got.ID.Namespace)
			}
		})
	}
}

// TestWithoutKeepsSchemas takes fields out of a definition, whose schema is
// text that is not read, and must not be lost.
func TestWithoutKeepsSchemas(t *testing.T) {
	const schema = "        openAPIV3Schema:\n          properties:\n            status: {type: object}\n"
	for _, head := range []string{"metadata:\n  name: a.b\n  namespace: x\n", "metadata: {name: a.b, namespace: x}\n"} {
		objs, err := Parse("", 0, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"+head+
			"spec:\n  versions:\n    - name: v1\n      schema:\n"+schema+"status:\n  storedVersions: [v1]\n")
		if err != nil {
			t.Fatal(err)
		}
		got, err := objs[0].Without([]string{"metadata", "namespace"}, []string{"status"})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.Text(), "openAPIV3Schema:") || !strings.Contains(got.Text(), "status: {type: object}") {
			t.Errorf("the schema is lost:\n%s", got.Text())
		}
		if strings.Contains(got.Text(), "namespace: x") || strings.Contains(got.Text(), "storedVersions") {
			t.Errorf("still there:\n%s", got.Text())
		}
	}
}

func TestWithOptions(t *testing.T) {
	tests := []struct {
		list, want string
		changed    bool
	}{
		{"", "Prune=false,ServerSideApply=true", true},
		{"Delete=false", "Delete=false,Prune=false,ServerSideApply=true", true},
		{"Prune=confirm, ServerSideApply=false", "Prune=confirm, ServerSideApply=false", false},
		{"ServerSideApply=true", "ServerSideApply=true,Prune=false", true},
		{"PruneLast=true", "PruneLast=true,Prune=false,ServerSideApply=true", true},
	}
	for _, tt := range tests {
		got, changed := WithOptions(tt.list, NoPrune, ServerSideApply)
		if got != tt.want || changed != tt.changed {
			t.Errorf("WithOptions(%q) = %q, %v; want %q, %v", tt.list, got, changed, tt.want, tt.changed)
		}
	}
}
