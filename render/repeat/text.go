package repeat

import (
	"fmt"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Text returns a values file, with instructions for each Secret that it does not
// keep. It contains secret values.
func (a Adoption) Text() (string, error) {
	var b strings.Builder
	if len(a.Kept) > 0 {
		b.WriteString("# Values from the cluster, which the chart would otherwise generate:\n")
		for _, f := range a.Kept {
			fmt.Fprintf(&b, "#   %s: %s\n", f.Secret, f.Key)
		}
		text, err := yaml.Marshal(a.Values)
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	for _, r := range a.Rest {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		r.write(&b)
	}
	return b.String(), nil
}

func (r Rest) write(b *strings.Builder) {
	line := func(format string, args ...any) { fmt.Fprintf(b, "# "+format+"\n", args...) }
	name := r.Secret.Name
	if r.Replacement == "" {
		line("%s: no value of the chart sets %s.", r.Secret, strings.Join(r.Keys, ", "))
		line("To keep them, let Argo CD ignore them. Add to the Application:")
		line("  spec:")
		line("    ignoreDifferences:")
		line("      - kind: Secret")
		line("        namespace: %s", r.Secret.Namespace)
		line("        name: %s", name)
		line("        jsonPointers:")
		for _, key := range r.Keys {
			line("          - /data/%s", strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
		}
		line("    syncPolicy:")
		line("      syncOptions: [RespectIgnoreDifferences=true]")
		return
	}
	line("%s: no value of the chart sets %s, but it can use a Secret of your own:", r.Secret, strings.Join(r.Keys, ", "))
	line("  %s: %s-kept", r.Replacement, name)
	line("Create it from the existing one, for example as a SealedSecret:")
	line("  kubectl -n %s get secret %s -o json | jq '{apiVersion, kind, type, data, metadata: {name: \"%s-kept\", namespace: "+
		".metadata.namespace}}' | kubeseal -o yaml", r.Secret.Namespace, name, name)
	line("or from a secret store that contains the same values:")
	line("  apiVersion: external-secrets.io/v1")
	line("  kind: ExternalSecret")
	line("  metadata: {name: %s-kept, namespace: %s}", name, r.Secret.Namespace)
	line("  spec:")
	line("    secretStoreRef: {kind: ClusterSecretStore, name: YOUR-STORE}")
	line("    target: {name: %s-kept}", name)
	line("    dataFrom: [{extract: {key: YOUR-PATH/%s}}]", name)
}

// Findings reports what is not kept. It contains no secret values.
func (a Adoption) Findings() []finding.Finding {
	var all []finding.Finding
	note := func(object, message, remedy string) {
		all = append(all, finding.Finding{Severity: finding.Note, Rule: "random", Object: object, Message: message, Remedy: remedy})
	}
	for _, r := range a.Rest {
		if r.Replacement == "" {
			note(r.Secret.String(), "no value of the chart sets "+strings.Join(r.Keys, ", "), "let Argo CD ignore the difference, as printed")
		} else {
			note(r.Secret.String(), "no value of the chart sets "+strings.Join(r.Keys, ", "),
				"set "+r.Replacement+" to a Secret of your own, as printed")
		}
	}
	for _, id := range a.Absent {
		note(id.String(), "it is not in the cluster, so there is nothing to keep",
			"check --name, --namespace and --context, unless the Application is new")
	}
	return all
}
