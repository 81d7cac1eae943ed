package knowledge

import (
	"slices"
	"testing"
)

// TestForArgoCD: a check of a later release does not exist, one in argocd-cm replaces all.
func TestForArgoCD(t *testing.T) {
	release := func(version string) ArgoCD {
		r, ok := ReleaseOf(version)
		if !ok {
			t.Fatalf("%s is no version", version)
		}
		return ArgoCD{Release: r}
	}
	own := ArgoCD{Checks: []string{"secrets.hashicorp.com/VaultStaticSecret", "*.example.com/*", "ConfigMap"}}
	for _, c := range []struct {
		argocd      ArgoCD
		group, kind string
		has         bool
		later       string
	}{
		{ArgoCD{}, "postgresql.cnpg.io", "Cluster", true, ""},
		{release("v3.1.4"), "postgresql.cnpg.io", "Cluster", true, ""},
		{release("3.0"), "postgresql.cnpg.io", "Cluster", false, "v3.1"},
		{release("2.14"), "postgresql.cnpg.io", "Cluster", false, "v3.1"},
		{release("4.0"), "postgresql.cnpg.io", "Cluster", true, ""},
		{release("2.14"), "cert-manager.io", "Certificate", true, ""},
		{release("2.14"), "sql.cnrm.cloud.google.com", "SQLInstance", true, ""},
		{release("2.14"), "sql.cnrm.cloud.google.com", "SQLUser", false, "v3.3"},
		{release("3.3"), "sql.cnrm.cloud.google.com", "SQLUser", true, ""},
		{ArgoCD{}, "secrets.hashicorp.com", "VaultStaticSecret", false, ""},
		{own, "secrets.hashicorp.com", "VaultStaticSecret", true, ""},
		{own, "secrets.hashicorp.com", "VaultDynamicSecret", false, ""},
		{own, "zoo.example.com", "Zebra", true, ""},
		{own, "", "ConfigMap", true, ""},
		{own, "", "Secret", false, ""},
		{ArgoCD{Release: OldestArgoCD, Checks: []string{"*/*"}}, "postgresql.cnpg.io", "Cluster", true, ""},
	} {
		k, ok := Default().For(c.argocd).Kind(c.group, c.kind)
		if !ok {
			k = Default().For(c.argocd).Guess(c.group, c.kind)
		}
		if has := len(k.Health) > 0; has != c.has || k.Later != c.later {
			t.Errorf("%v: %s.%s has a check: %v, later: %q; want %v, %q", c.argocd, c.kind, c.group, has, k.Later, c.has, c.later)
		}
	}
	if k, _ := Default().Kind("postgresql.cnpg.io", "Cluster"); len(k.Health) == 0 {
		t.Error("For changed the knowledge that it extends")
	}
}

func TestReleases(t *testing.T) {
	for version, want := range map[string]string{"2.14": "2.14", "v3.5.7": "3.5", "v3.6.0-rc1": "3.6", "3.10": "3.10", "3.6-alpine": "3.6"} {
		if r, ok := ReleaseOf(version); !ok || r.String() != want {
			t.Errorf("%s is %s (%v), want %s", version, r, ok, want)
		}
	}
	for _, version := range []string{"", "latest", "3", "three.five", "-1.2", "sha256:12ab"} {
		if r, ok := ReleaseOf(version); ok {
			t.Errorf("%q is %s", version, r)
		}
	}
	if (Release{2, 14}).Before(Release{2, 4}) || !(Release{2, 14}).Before(Release{3, 0}) || (Release{3, 0}).Before(Release{2, 14}) {
		t.Error("releases are not ordered by their numbers")
	}
}

// TestSince: every release in the records is one that a user may select.
func TestSince(t *testing.T) {
	for _, k := range allKinds(t) {
		for _, h := range k.Health {
			if r, ok := ReleaseOf(h.Since); h.Since != "" && (!ok || !OldestArgoCD.Before(r) || NewestArgoCD.Before(r)) {
				t.Errorf("%s.%s: since: %s is not a release after %s and up to %s", k.Kind, k.Group, h.Since, OldestArgoCD, NewestArgoCD)
			}
			if len(h.Earlier) > 0 && h.Since == "" {
				t.Errorf("%s.%s: earlier has no effect without since", k.Kind, k.Group)
			}
		}
		since := func(h Health) string { return h.Since }
		if slices.ContainsFunc(k.Health, func(h Health) bool { return since(h) != since(k.Health[0]) }) {
			t.Errorf("%s.%s: its checks are not of one release", k.Kind, k.Group)
		}
	}
}
