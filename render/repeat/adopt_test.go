package repeat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/random"
)

// chart has fields of every sort, also in a subchart of another name.
var chart = map[string]string{
	"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0, alias: store}]\n",
	"values.yaml": "global: {password: ''}\nplain: ''\nencoded:\nhashed: ''\nfull: already\nnested: {deep: ''}\n" +
		"fullnameOverride: ''\nexisting: {secret: ''}\n",
	"templates/a.yaml": `apiVersion: v1
kind: Secret
metadata: {name: {{ .Values.fullnameOverride | default "a" }}}
data:
  encoded: {{ .Values.encoded | default (randBytes 32) }}
stringData:
  plain: {{ .Values.plain | default (randAlphaNum 20) | quote }}
  nested: {{ .Values.nested.deep | default (randAlphaNum 20) | quote }}
  unnamed: {{ (.Values.only).here | default (randAlphaNum 20) | quote }}
  hashed: {{ htpasswd "user" (.Values.hashed | default "x") | quote }}
  never: {{ randAlphaNum 20 }}
  full: {{ .Values.full }}
{{- if eq .Values.plain "refused" }}{{ fail (print "not " .Values.plain) }}{{ end }}
`,
	"templates/b.yaml": `{{ if not .Values.existing.secret }}
apiVersion: v1
kind: Secret
metadata: {name: b, namespace: other}
stringData: {key: {{ randAlphaNum 20 }}}
{{ end }}`,
	"templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n" +
		"data: {of: {{ .Values.existing.secret | default \"b\" }}, random: {{ randAlphaNum 20 }}}\n",
	"charts/db/Chart.yaml":  "apiVersion: v2\nname: db\nversion: 1.0.0\n",
	"charts/db/values.yaml": "auth: {password: ''}\n",
	"charts/db/templates/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData:\n" +
		"  password: {{ .Values.auth.password | default .Values.global.password | default (randAlphaNum 20) | quote }}\n",
	"charts/db/templates/_none.yaml": "",
}

// found returns the component of the chart. It is found once: that takes many renderings, each
// with a hash of a password.
func found(t *testing.T) *Component {
	t.Helper()
	c, err := ofChart()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var ofChart = sync.OnceValues(func() (*Component, error) {
	fsys := fstest.MapFS{}
	for name, text := range chart {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	var seeds [2]random.Key
	for i := range seeds {
		s, err := random.ParseSeed([]byte(strings.Repeat(fmt.Sprint(i), random.MinSeedBytes)))
		if err != nil {
			return nil, err
		}
		seeds[i] = s.Key(random.Owner{})
	}
	opt := render.Options{Name: "shop", Namespace: "shop"}
	opt.Random.Now = time.Unix(1_800_000_000, 0)
	return Adopt(context.Background(), fsys, ".", opt, seeds)
})

func secret(namespace, name string) object.ID {
	return object.ID{Kind: "Secret", Namespace: namespace, Name: name}
}

func TestFind(t *testing.T) {
	c := found(t)
	var got []string
	for _, f := range c.Generated {
		how := "nothing"
		if taken, is := c.setters[f]; is {
			how = strings.Join(taken.path, ".")
			if taken.encoded {
				how += " in base64"
			}
		}
		got = append(got, fmt.Sprintf("%s %s: %s", f.Secret, f.Key, how))
	}
	want := []string{
		"Secret other/b key: nothing",
		"Secret shop/a encoded: encoded in base64", "Secret shop/a hashed: nothing", "Secret shop/a nested: nested.deep",
		"Secret shop/a never: nothing", "Secret shop/a plain: plain", "Secret shop/a unnamed: only.here",
		"Secret shop/db password: store.auth.password",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(c.replacements) != 1 || c.replacements[secret("other", "b")] != "existing.secret" {
		t.Errorf("replaced by %v", c.replacements)
	}
}

func TestAdopt(t *testing.T) {
	c := found(t)
	live := Live{
		secret("other", "b"): {"key": []byte("live b")},
		secret("shop", "a"): {"encoded": {0, 255, 1}, "plain": []byte("live: plain"), "unnamed": []byte("null"),
			"hashed": []byte("user:x"), "nested": {255}},
	}
	a, err := c.Adopt(context.Background(), live)
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Text()
	if err != nil {
		t.Fatal(err)
	}
	const want = `# Values from the cluster, which the chart would otherwise generate:
#   Secret shop/a: encoded
#   Secret shop/a: plain
#   Secret shop/a: unnamed
encoded: AP8B
only:
    here: "null"
plain: 'live: plain'

# Secret other/b: no value of the chart sets key, but it can use a Secret of your own:
#   existing.secret: b-kept
# Create it from the existing one, for example as a SealedSecret:
#   kubectl -n other get secret b -o json | jq '{apiVersion, kind, type, data, metadata: {name: "b-kept", namespace: .metadata.namespace}}' | kubeseal -o yaml
# or from a secret store that contains the same values:
#   apiVersion: external-secrets.io/v1
#   kind: ExternalSecret
#   metadata: {name: b-kept, namespace: other}
#   spec:
#     secretStoreRef: {kind: ClusterSecretStore, name: YOUR-STORE}
#     target: {name: b-kept}
#     dataFrom: [{extract: {key: YOUR-PATH/b}}]

# Secret shop/a: no value of the chart sets hashed, nested.
# To keep them, let Argo CD ignore them. Add to the Application:
#   spec:
#     ignoreDifferences:
#       - kind: Secret
#         namespace: shop
#         name: a
#         jsonPointers:
#           - /data/hashed
#           - /data/nested
#     syncPolicy:
#       syncOptions: [RespectIgnoreDifferences=true]
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if len(a.Absent) != 1 || a.Absent[0] != secret("shop", "db") {
		t.Errorf("absent: %v", a.Absent)
	}
	for _, f := range a.Findings() {
		if strings.Contains(f.Error(), "live") {
			t.Errorf("%v shows what a Secret holds", f)
		}
	}
}

// TestRefused: a chart that does not want what the cluster has may say it, and we do not.
// What else it wants is kept.
func TestRefused(t *testing.T) {
	a, err := found(t).Adopt(context.Background(), Live{secret("shop", "a"): {"plain": []byte("refused"), "nested": []byte("kept")}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Text()
	if err != nil || len(a.Kept) != 1 || a.Kept[0].Key != "nested" || len(a.Rest) != 1 || !slices.Equal(a.Rest[0].Keys, []string{"plain"}) {
		t.Errorf("%v: kept %v, and not %v", err, a.Kept, a.Rest)
	}
	if strings.Contains(text+fmt.Sprint(a.Findings()), "refused") {
		t.Errorf("it shows what was refused:\n%s", text)
	}
}

func TestEmptyComponent(t *testing.T) {
	c := &Component{}
	if a, err := c.Adopt(context.Background(), nil); err != nil || len(a.Kept)+len(a.Rest)+len(a.Absent) > 0 {
		t.Error(a, err)
	}
}
