package helm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/ladder-cmp/ladder/render/input"
)

// outputs are outputs of templates that are not easy to sort.
var outputs = map[string]string{
	"c/templates/a.yaml": "\n# before\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n---  \n\n---\n# only a comment\n---\n" +
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
	"c/templates/b.yaml": "kind: Zebra\napiVersion: x/v1\nmetadata: {name: a}\n---\nkind: Ape\napiVersion: x/v1\nmetadata: {name: a}\n" +
		"---\nkind: Zebra\napiVersion: x/v1\nmetadata: {name: b}\n--- # text\nkind: Namespace\napiVersion: v1\nmetadata: {name: b}",
	"c/templates/hooks.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n" +
		"    \"helm.sh/hook\": pre-install,post-upgrade\n    helm.sh/hook-weight: \"-5\"\n" +
		"---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  annotations: {helm.sh/hook: crd-install}\n" +
		"---\napiVersion: v1\nkind: ServiceAccount\n" +
		"metadata: {name: a, annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: hook-succeeded}}\n" +
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: b, annotations: {helm.sh/hook-weight: \"1\"}}\n",
	"c/templates/unclear.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: x}}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: y}\nmore: *m\n---\n{apiVersion: v1, kind: Pod, metadata: {name: z}}\n" +
		"---\nfoo: bar\n---\napiVersion: v1\nkind: 7\nmetadata: {name: seven}\n---\nfoo: bar\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nkind: Secret\nmetadata: {name: twice}\ndata: {<<: {a: b}}\n---\nfoo: bar\n\n\n",
	"c/templates/crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" +
		"metadata: {name: a.x}\nspec:\n  versions:\n" +
		"  - name: v1\n    schema:\n      openAPIV3Schema:\n        type: object\n        description: a \"text\"\n",
	"c/templates/crd2.yaml":     blockCRD,
	"c/templates/_partial.yaml": "kind: {",
	"c/templates/empty.yaml":    " \n",
}

// TestSort holds the order of documents to that of Helm's function for the whole texts.
func TestSort(t *testing.T) {
	hooks, manifests, err := releaseutil.SortManifests(maps.Clone(outputs), nil, releaseutil.InstallOrder)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range manifests {
		want = append(want, m.Name+"\n"+m.Content)
	}
	for _, h := range hooks {
		want = append(want, fmt.Sprint(h.Path, h.Events, h.Weight, h.DeletePolicies, "\n", h.Manifest))
	}
	for _, memory := range []*input.Memory{nil, input.NewMemory(1 << 20)} {
		got, err := source{opt: Options{Memory: memory}}.sort(&chart.Chart{Metadata: &chart.Metadata{Name: "c"}}, maps.Clone(outputs))
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, d := range got.manifests {
			texts = append(texts, d.Source+"\n"+d.Text)
		}
		for i, h := range got.hooks {
			texts = append(texts, fmt.Sprint(got.hookDocuments[i].Source, h.Events, h.Weight, h.DeletePolicies, "\n", got.hookDocuments[i].Text))
		}
		if !slices.Equal(texts, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(texts, "\n===\n"), strings.Join(want, "\n===\n"))
		}
	}
}

// blockCRD is a CRD, but for the end of its schema, which is not parsed for the object.
const blockCRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: b.x\nspec:\n  versions:\n" +
	"  - name: v1\n    schema:\n      openAPIV3Schema:\n        type: object\n"

// TestSortGivesHeads keeps Helm from parsing the schemas of CRDs.
func TestSortGivesHeads(t *testing.T) {
	s := source{}
	all := s.parseOutput(&chart.Chart{Metadata: &chart.Metadata{Name: "c"}}, map[string]string{"c/templates/crd.yaml": blockCRD})
	if head, kind, isClear := headOf(all[0], 0); !isClear || kind != "CustomResourceDefinition" || len(head) > 100 {
		t.Errorf("Helm gets %q", head)
	}
}

// TestSortRefuses passes on what only Helm's parser refuses.
func TestSortRefuses(t *testing.T) {
	for _, text := range []string{"a: .inf\nkind: Pod\napiVersion: v1\nmetadata: {name: a}\n", "? {a: b}\n: c\n", "just text", "a: {",
		blockCRD + "        a: .inf\n", blockCRD + "        a: b\n       c: d\n"} {
		files := map[string]string{"c/templates/a.yaml": text}
		_, _, want := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
		_, err := source{}.sort(&chart.Chart{Metadata: &chart.Metadata{Name: "c"}}, files)
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

// TestSplitManifests holds the splitting to Helm's.
func TestSplitManifests(t *testing.T) {
	for _, text := range append(slices.Sorted(maps.Values(outputs)), "---", "----", "------\na: b", "---\n---a\n ---\nb", "a\r\n---\r\nb",
		"a---\n--- \t---\n", "\n\n") {
		split := releaseutil.SplitManifests(text)
		var want []string
		for i := range len(split) {
			want = append(want, split[fmt.Sprintf("manifest-%d", i)])
		}
		if got := splitManifests(text); !slices.Equal(got, want) {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}
