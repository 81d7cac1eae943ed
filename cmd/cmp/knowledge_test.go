package main

import (
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestFindKind asks in the spellings that users know.
func TestFindKind(t *testing.T) {
	t.Parallel()
	base := knowledge.Default()
	for _, test := range []struct{ arg, kind, text, not string }{
		{arg: "cert-manager.io/Certificate", kind: "cert-manager.io/Certificate", text: "condition Ready"},
		{arg: "cert-manager.io/certificate", kind: "cert-manager.io/Certificate"},
		{arg: "Certificate.cert-manager.io", kind: "cert-manager.io/Certificate"},
		{arg: "certificate", kind: "cert-manager.io/Certificate", text: "certmanager.k8s.io  Certificate"}, // both, to choose from
		{arg: "cert-manager.io/Certificates", kind: "cert-manager.io/Certificate"},
		{arg: "certificates.cert-manager.io", kind: "cert-manager.io/Certificate"},
		{arg: "gateways", kind: "gateway.networking.k8s.io/Gateway"},
		{arg: "Deployment.v1.apps", kind: "apps/Deployment", text: "  besides:\n    pod: spec.template\n    recreated:\n      why: "},
		{arg: "pods.v1.", kind: "/Pod"},
		{arg: "Endpoints", kind: "/Endpoints"},
		{arg: "deploy", kind: "apps/Deployment", text: "scope:   namespaced"},
		{arg: "core/ConfigMap", kind: "/ConfigMap", text: "group:   core"},
		{arg: "cm", kind: "/ConfigMap"},
		{arg: "Namespace", kind: "/Namespace", text: "scope:   cluster, it has no namespace"},
		{arg: "Service", kind: "/Service", text: "other kinds with this name: "}, // the built-in kind is usually meant
		{arg: "unknown.example.com/Thing", kind: "unknown.example.com/Thing", text: "Ladder has no record of the kind", not: "changed:"},
		{arg: "Thing.unknown.example.com", kind: "unknown.example.com/Thing", text: "assumed to be namespaced"},
		{arg: "cert-manager.io/Thing", kind: "cert-manager.io/Thing", text: "Ladder has no record of the kind"},
	} {
		q := question{Base: base, Groups: base.Groups()}
		if err := q.Find(test.arg); err != nil {
			t.Errorf("%s: %v", test.arg, err)
			continue
		}
		if got := q.Kinds[0].Group + "/" + q.Kinds[0].Kind; got != test.kind {
			t.Errorf("%s is %s, want %s", test.arg, got, test.kind)
		}
		if text := q.Text(); !strings.Contains(text, test.text) || test.not != "" && strings.Contains(text, test.not) {
			t.Errorf("%s is answered by\n%s\nwant %q in it, and not %q", test.arg, text, test.text, test.not)
		}
	}
}

// TestGroups asks for groups, whose kinds are listed.
func TestGroups(t *testing.T) {
	t.Parallel()
	base := knowledge.Default()
	for group, kinds := range map[string]string{"cert-manager.io": "Certificate ClusterIssuer Issuer", "core": "ConfigMap Namespace Secret",
		"apps": "Deployment StatefulSet"} {
		q := question{Base: base, Groups: base.Groups()}
		if err := q.Find(group); err != nil {
			t.Errorf("%s: %v", group, err)
			continue
		}
		text := q.Text()
		for _, kind := range strings.Fields(kinds) {
			if !strings.Contains(text, group+" ") || !strings.Contains(text, " "+kind+" ") {
				t.Errorf("the kinds of %s lack %s:\n%s", group, kind, text)
			}
		}
		if strings.Contains(text, "To show one of them") {
			t.Errorf("the list of %s was asked for, and is not a choice:\n%s", group, text)
		}
		if table := q.GroupTable(); !strings.Contains(table, "\n"+group+" ") {
			t.Errorf("the groups lack %s", group)
		}
	}
}

// TestNotFound asks for what does not exist.
func TestNotFound(t *testing.T) {
	t.Parallel()
	base := knowledge.Default()
	for arg, want := range map[string]string{
		"Certifcate":                     `did you mean "Certificate"?`,
		"cert-manger.io":                 `did you mean "cert-manager.io"?`,
		"unknown.example.com":            "use unknown.example.com/KIND",
		"Zzzzzzzzzz":                     "list what Ladder knows with cmp knowledge",
		"cert-manager.io/v1/Certificate": "use GROUP/KIND, without a version",
		"cert-manager.io/":               "use GROUP/KIND",
		".io":                            "",
		"Certificate.":                   "",
	} {
		q := question{Base: base, Groups: base.Groups()}
		err := q.Find(arg)
		found := finding.Of(err)
		if len(found) != 1 || found[0].Rule != "unknown-kind" || !strings.Contains(found[0].Remedy, want) {
			t.Errorf("%q: %v, want %q", arg, err, want)
		}
	}
}
