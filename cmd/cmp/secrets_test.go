package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

var plantedBase64 = base64.StdEncoding.EncodeToString([]byte(planted))

const (
	secretHead   = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	secretValues = "password: " + planted + "\nlist: [" + planted + "]\nnumber: 1\nurl: https://user:" + planted + "@example.com\n"
)

// plantedRequest is a request with the secret somewhere in its repository or environment.
type plantedRequest struct {
	repo repo
	env  map[string]string
}

// plant returns a request with variables, whose names and values follow each other.
func plant(r repo, env ...string) plantedRequest {
	q := plantedRequest{r, map[string]string{}}
	for i := 0; i < len(env); i += 2 {
		q.env[env[i]] = env[i+1]
	}
	return q
}

// given returns a request with values in a parameter.
func given(values string, r repo) plantedRequest {
	text, _ := json.Marshal([]map[string]string{{"name": "values-object", "string": values}})
	return plant(r, "ARGOCD_APP_PARAMETERS", string(text))
}

// plantedInSecrets has it in a Secret, where it belongs, and most of them are wrong.
func plantedInSecrets() map[string]plantedRequest {
	return map[string]plantedRequest{
		"a Secret":               plant(files("app/a.yaml", secretHead+"data: {p: "+plantedBase64+"}\nstringData: {p: "+planted+"}\n")),
		"a Secret, twice":        plant(files("app/a.yaml", strings.Repeat("---\n"+secretHead+"stringData: {p: "+planted+"}\n", 2))),
		"a Secret, doubled keys": plant(files("app/a.yaml", secretHead+"stringData: {p: "+planted+", p: "+planted+"2}\n")),
		"a Secret, broken":       plant(files("app/a.yaml", secretHead+"stringData:\n  p: "+planted+": x\n   q: [\n")),
		"a Secret, broken quote": plant(files("app/a.yaml", secretHead+"stringData:\n  p: \""+planted+"\\q\"\n")),
		"a Secret, alias":        plant(files("app/a.yaml", secretHead+"stringData:\n  p: *"+planted+"\n")),
		"a Secret, anchor":       plant(files("app/a.yaml", secretHead+"stringData:\n  p: &"+planted+" [*"+planted+"]\n")),
		"a Secret, tag":          plant(files("app/a.yaml", secretHead+"stringData:\n  p: !"+planted+" {\n")),
		"a Secret, no name":      plant(files("app/a.yaml", "apiVersion: v1\nkind: Secret\nstringData: {p: "+planted+"}\n")),
		"a Secret, no UTF-8":     plant(files("app/a.yaml", secretHead+"stringData: {p: \""+planted+"\xff\"}\n")),
		"a Secret by template":   plant(templated(secretHead + "stringData:\n  p: " + planted + ": x\n   q: [\n")),
	}
}

// plantedInCharts has it in values from parameters, which templates and schemas cannot use.
func plantedInCharts() map[string]plantedRequest {
	return map[string]plantedRequest{
		"values":         given(secretValues, chartOf("app/templates/a.yaml", secretHead+"stringData: {p: {{ .Values.password }}}\n")),
		"values, broken": plant(chartOf("app/values.yaml", secretValues+"x: "+planted+": y\n", "app/templates/a.yaml", configMap)),
		"values, a word": plant(chartOf("app/values.yaml", planted+"\n", "app/templates/a.yaml", configMap)),
		"values, not in order": given(secretValues, chartOf("app/values.schema.json", `{"properties": {"password": {"type": "number", `+
			`"const": 1, "enum": [1], "maxLength": 2, "pattern": "^x"}, "list": {"maxItems": 0, "items": {"format": "ipv4", "type": "integer"}}, `+
			`"url": {"not": {"type": "string"}}}, "propertyNames": {"maxLength": 3}}`, "app/templates/a.yaml", configMap)),
		"a template with no such": given(secretValues, chartOf("app/templates/a.yaml", "{{ .Values.password.x }}")),
		"a template, index": given(secretValues,
			chartOf("app/templates/a.yaml", "{{ index .Values.list 7 }}{{ index .Values.password \"x\" }}")),
		"a template, number": given(secretValues,
			chartOf("app/templates/a.yaml", "{{ add .Values.password 1 }}{{ atoi .Values.password }}{{ semver .Values.password }}")),
		"a template, semver": given(secretValues, chartOf("app/templates/a.yaml", "{{ semverCompare .Values.password \"1\" }}")),
		"a template, regex": given("password: \""+planted+"(\"\n",
			chartOf("app/templates/a.yaml", "{{ mustRegexMatch .Values.password \"x\" }}")),
		"a template, json": given(secretValues, chartOf("app/templates/a.yaml", "{{ mustFromJson .Values.password }}")),
		"a template, date": given(secretValues, chartOf("app/templates/a.yaml", "{{ mustToDate \"2006\" .Values.password }}")),
		"a template, url": given("url: \"https://user:"+planted+"@exa mple.com:x\"\n",
			chartOf("app/templates/a.yaml", "{{ urlParse .Values.url }}")),
		"a template, b64": given(secretValues,
			chartOf("app/templates/a.yaml", "{{ fromYaml .Values.password }}{{ .Values.password | b64dec | decryptAES .Values.password }}")),
		"a template, tpl":         given("password: '"+planted+" {{'\n", chartOf("app/templates/a.yaml", "{{ tpl .Values.password . }}")),
		"a template, tpl that no": given("password: '"+planted+" {{ .x.y }}'\n", chartOf("app/templates/a.yaml", "{{ tpl .Values.password . }}")),
		"a template, include":     given(secretValues, chartOf("app/templates/a.yaml", "{{ include .Values.password . }}")),
		"a template, prints it": given(secretValues, chartOf("app/templates/a.yaml",
			"kind: Secret\napiVersion: v1\nmetadata: {name: a}\nstringData:\n  p: {{ .Values.password }}: x\n   {{ .Values.password }}: [\n")),
		"a template, nothing else": given(secretValues, chartOf("app/templates/a.yaml", "{{ .Values.password }}\n")),
		"a template, text": given(secretValues,
			files("app/values.yaml", "password: ''\n", "app/a.yaml.tmpl", "{{ .Values.password.x }}")),
		"a template, panic": given(secretValues,
			chartOf("app/templates/a.yaml", "{{ $d := dict \"p\" .Values.password }}{{ $_ := set $d \"d\" $d }}{{ $d }}")),
		"a subchart's": plant(chartOf("app/values.yaml", "b: "+planted+"\n", "app/charts/b/Chart.yaml",
			"apiVersion: v2\nname: b\nversion: 1.0.0\n", "app/charts/b/values.yaml", "a: {b: c}\n", "app/templates/a.yaml", configMap)),
		"tables over values": plant(chartOf("app/values.yaml", "a: {b: "+planted+"}\n", "app/component.yaml", "values: [v.yaml]\n", "app/v.yaml",
			"a: "+planted+"\n", "app/templates/a.yaml", configMap)),
	}
}

// plantedInObjects has it in the annotations and the kind of an object.
func plantedInObjects() map[string]plantedRequest {
	annotated := func(kind, key string) repo {
		return chartOf("app/values.yaml", secretValues, "app/templates/a.yaml",
			"apiVersion: v1\nkind: "+kind+"\nmetadata: {name: a, annotations: {"+key+": {{ .Values.password }}}}\n")
	}
	return map[string]plantedRequest{
		"a wave":            plant(annotated("Secret", "argocd.argoproj.io/sync-wave")),
		"a wave of another": plant(annotated("ConfigMap", "argocd.argoproj.io/sync-wave")),
		"a weight":          plant(annotated("Secret", "helm.sh/hook-weight")),
		"a hook":            plant(annotated("ConfigMap", "argocd.argoproj.io/hook")),
		"a hook of Helm":    plant(annotated("ConfigMap", "helm.sh/hook")),
		"an order":          plant(annotated("ConfigMap", "ladder-cmp.github.io/after")),
		"a kind":            plant(annotated("{{ .Values.password }}", "a")),
		"a kind, no name": plant(chartOf("app/values.yaml", secretValues, "app/templates/a.yaml",
			"apiVersion: v1\nkind: {{ .Values.password }}\nmetadata: {}\n")),
		"a kind, twice": plant(chartOf("app/values.yaml", secretValues, "app/templates/a.yaml",
			strings.Repeat("---\napiVersion: v1\nkind: {{ .Values.password }}\nmetadata: {name: a}\n", 2))),
	}
}

// plantedInKustomizations has it in a kustomization, or in a Secret that one changes.
func plantedInKustomizations() map[string]plantedRequest {
	kustomized := func(text string) plantedRequest {
		return plant(files("app/kustomization.yaml", "resources: [a.yaml]\n"+text, "app/a.yaml", secretHead+"stringData: {p: "+planted+"}\n"))
	}
	replaced := func(field, options, target string) plantedRequest {
		return kustomized("replacements: [{source: {kind: Secret, fieldPath: " + field + options +
			"}, targets: [{select: {kind: Secret}, fieldPaths: ['" + target + "']}]}]\n")
	}
	return map[string]plantedRequest{
		"a Secret, generated": plant(files("app/kustomization.yaml", "secretGenerator: [{name: a, literals: [p="+planted+", "+planted+"]}]\n")),
		"a Secret, generated, no": plant(
			files("app/kustomization.yaml", "secretGenerator: [{name: a, envs: [e]}]\n", "app/e", planted+" "+planted+"\n=\n")),
		"a patch of a Secret": plant(files("app/kustomization.yaml", "resources: [a.yaml]\npatches: [{patch: '[{op: test, "+
			"path: /stringData/p, value: "+planted+"}]', target: {kind: Secret}}]\n", "app/a.yaml", secretHead+"stringData: {p: "+planted+"2}\n")),
		"a Secret, replaced part":   replaced("stringData.p", ", options: {delimiter: '/', index: 5}", "stringData.q"),
		"a Secret, replaced field":  replaced("stringData.p.q", "", "stringData.q"),
		"a Secret, replaced target": replaced("stringData.p", "", "stringData.[x=y].z"),
		"a Secret, patched": kustomized(
			"patches: [{patch: '{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {$patch: " + planted + "}}'}]\n"),
		"a Secret, merged":        kustomized("secretGenerator: [{name: b, behavior: merge, literals: [p=" + planted + "]}]\n"),
		"a base with a user":      kustomized("bases: ['https://user:" + planted + "@host/a']\n"),
		"a base with a token":     kustomized("components: ['git::https://oauth2:" + planted + "@host/a']\n"),
		"a base with a query":     kustomized("components: ['https://host/a?token=" + planted + "']\n"),
		"a base without a scheme": kustomized("components: ['user:" + planted + "@host.com/a']\n"),
		"a plugin with a token":   kustomized("generators: ['https://user:" + planted + "@host/a']\n"),
	}
}

// plantedInSettings has it in Chart.yaml and component.yaml.
func plantedInSettings() map[string]plantedRequest {
	return map[string]plantedRequest{
		"a chart with a user": plant(files("app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n"+
			"dependencies: [{name: b, version: 1.0.0, repository: 'https://user:"+planted+"@host/a'}]\n", "app/templates/a.yaml", configMap)),
		"a chart with a token": plant(files("app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n"+
			"dependencies: [{name: b, version: 1.0.0, repository: 'oci://host/a?token="+planted+"'}]\n", "app/templates/a.yaml", configMap)),
		"component, a chart": plant(
			files("app/component.yaml", "chart: {repoURL: 'https://user:"+planted+"@host/a', chart: b, version: 1.0.0}\n", "app/a.yaml", configMap)),
		"component, an address": plant(files("app/component.yaml", "chart: 'https://user:"+planted+"@host/a'\n", "app/a.yaml", configMap)),
		"component, nothing in it": plant(
			files("app/component.yaml", "chart: {repoURL: 'https://user:"+planted+"@host/a'}\n", "app/a.yaml", configMap)),
		"component, set": plant(files("app/component.yaml", "set: password="+planted+"\n", "app/Chart.yaml",
			"apiVersion: v2\nname: app\nversion: 1.0.0\n", "app/templates/a.yaml", configMap)),
		"component, set deep": plant(files("app/component.yaml", "set: {'a[': "+planted+", b: ["+planted+"]}\n", "app/Chart.yaml",
			"apiVersion: v2\nname: app\nversion: 1.0.0\n", "app/templates/a.yaml", configMap)),
		"component, labels": plant(files("app/component.yaml", "labels: "+planted+"\n", "app/a.yaml", configMap)),
	}
}

// plantedInApplications has it in the source of a child Application.
func plantedInApplications() map[string]plantedRequest {
	child := func(source string) plantedRequest {
		return plant(files("app/a.yaml",
			"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {"+source+"}, destination: {namespace: a}}\n"))
	}
	return map[string]plantedRequest{
		"a child elsewhere":     child("repoURL: 'https://user:" + planted + "@host/a', path: b"),
		"a child with a token":  child("repoURL: 'https://host/a?token=" + planted + "', path: b"),
		"a child of a registry": child("repoURL: 'oci://user:" + planted + "@host', targetRevision: 1.0.0"),
		"a child's token":       child("repoURL: 'oci://" + planted + "@host', targetRevision: 1.0.0"),
		"a child's values": child("repoURL: 'https://user:" + planted + "@host/a', path: app/b, helm: {values: '" + planted +
			": [', parameters: [{name: 'a[', value: " + planted + "}]}"),
	}
}

// plantedInParameters has it in what the Application sets.
func plantedInParameters() map[string]plantedRequest {
	parameters := func(name string, value any) string {
		text, _ := json.Marshal([]map[string]any{{"name": name, "string": value}, {"name": name, "array": []any{value}},
			{"name": name, "map": map[string]any{"password": value}}})
		return string(text)
	}
	all := map[string]plantedRequest{}
	for name, value := range map[string]string{"set": "password=" + planted, "broken": "password[" + planted + "=" + planted, "none": planted,
		"deep": "a.b.c=" + planted + ",=" + planted} {
		all["variable "+name] = plant(chartOf("app/templates/a.yaml", "{{ .Values.password.x }}"), "ARGOCD_ENV_LADDER_SET", value,
			"ARGOCD_ENV_TOKEN", planted, "ARGOCD_ENV_LADDER_TOKEN", "")
		for _, p := range []string{"set", "set-string", "set-file", "values", "name", "namespace", "kube-version", "crds", "waves", "no-such"} {
			if strings.HasPrefix(p, "set") {
				all["parameter "+p+" "+name] = plant(chartOf("app/templates/a.yaml", "{{ .Values.password.x }}"),
					"ARGOCD_APP_PARAMETERS", parameters(p, value))
			}
		}
	}
	all["parameters, broken"] = plant(chartOf("app/templates/a.yaml", configMap), "ARGOCD_APP_PARAMETERS",
		`[{"name": "set", "string": "`+planted+`]`)
	all["parameters, a word"] = plant(chartOf("app/templates/a.yaml", configMap), "ARGOCD_APP_PARAMETERS", `"`+planted+`"`)
	all["parameters, a number"] = plant(chartOf("app/templates/a.yaml", configMap), "ARGOCD_APP_PARAMETERS",
		`[{"name": "set", "map": {"a": {"b": "`+planted+`"}}}]`)
	return all
}

// TestSecretsStayInside plants a secret wherever an Application may hold one,
// makes what it can of it go wrong, and looks for it in the errors, the log and
// the metrics.
func TestSecretsStayInside(t *testing.T) {
	all := map[string]plantedRequest{}
	for _, group := range []map[string]plantedRequest{plantedInSecrets(), plantedInCharts(), plantedInObjects(), plantedInKustomizations(),
		plantedInSettings(), plantedInApplications(), plantedInParameters()} {
		maps.Copy(all, group)
	}
	s := startServe(t, "LADDER_SERVE_LOG_LEVEL=debug", "LADDER_SERVE_TIMEOUT=10m")
	hidden := func(where, text string) {
		t.Helper()
		if strings.Contains(text, planted) || strings.Contains(text, plantedBase64) {
			t.Errorf("%s: %s", where, text)
		}
	}
	failed := 0
	for name, q := range all {
		q.env["ARGOCD_APP_NAME"] = "app"
		_, err := s.GenerateManifest(t.Context(), sidecartest.Request{Archive: sidecartest.PackEntries(q.repo...), Dir: "app", Env: q.env})
		hidden("the error of "+name, status.Convert(err).Message())
		if err != nil {
			failed++
		}
	}
	if failed < len(all)/2 {
		t.Errorf("%d of %d went wrong, which is too few to learn from", failed, len(all))
	}
	hidden("the metrics", s.get(t, "/metrics"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) < len(all) {
		t.Error(errors.New("the log has too few lines"))
	}
	for _, line := range s.lines {
		text, _ := json.Marshal(line)
		hidden("the log", string(text))
	}
}
