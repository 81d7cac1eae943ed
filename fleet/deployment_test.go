package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
)

// load loads a fleet of three components, with environments: web is in each of them, roles contains
// only a ClusterRole, and tests is only in qa, with a namespace of its own.
func load(t *testing.T, environments string) *fleet.Fleet {
	t.Helper()
	f := fleettest.Files(t, map[string]string{
		"web/component.yaml":   fleettest.Described("web", "apps", ""),
		"web/cm.yaml":          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
		"roles/component.yaml": fleettest.Described("roles", "apps", ""),
		"roles/role.yaml":      "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: roles}\n",
		"tests/component.yaml": fleettest.Described("tests", "apps", "") +
			"environments: {dev: {enabled: false}, prod: {enabled: false}, qa: {namespace: own}}\n",
		"tests/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tests}\n",
	}, fleet.Source{})
	f.Settings.Server, f.Settings.Revision = "https://default", "v1"
	if err := yaml.Unmarshal([]byte(environments), &f.Settings.Environments); err != nil {
		t.Fatal(err)
	}
	return f
}

// lines describes sets: their names and waves, and below them their deployments.
func lines(f *fleet.Fleet, sets []fleet.Set) string {
	var b strings.Builder
	for _, s := range sets {
		wave := "-"
		if s.Wave != nil {
			wave = fmt.Sprint(*s.Wave)
		}
		fmt.Fprintf(&b, "%s, wave %s, rank %d\n", s.Name, wave, s.Rank)
		for _, d := range s.Deployments(f.Applications) {
			fmt.Fprintf(&b, "  %s in %s of %s at %s, label %q\n", d.Name, d.Namespace, d.To.Server, d.To.Revision, d.Label)
		}
	}
	return b.String()
}

func TestSets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, environments, environment, want string }{
		{"no environments", "[]", "", `web, wave -, rank 0
  roles in roles of https://default at v1, label ""
  tests in tests of https://default at v1, label ""
  web in web of https://default at v1, label ""
`},
		{"an environment of components only", "[]", "qa", `web, wave -, rank 0
  roles in roles of https://default at v1, label "qa"
  tests in own of https://default at v1, label "qa"
  web in web of https://default at v1, label "qa"
`},
		{"each on its own cluster", "[{name: dev}, {name: qa, server: https://qa, revision: v2}]", "", `web, wave -, rank 0
  roles-dev in roles of https://default at v1, label "dev"
  roles-qa in roles of https://qa at v2, label "qa"
  tests-qa in own of https://qa at v2, label "qa"
  web-dev in web of https://default at v1, label "dev"
  web-qa in web of https://qa at v2, label "qa"
`},
		{"one of two, whose names stay", "[{name: dev}, {name: qa, server: https://qa}]", "dev", `web-dev, wave -, rank 0
  roles-dev in roles of https://default at v1, label "dev"
  web-dev in web of https://default at v1, label "dev"
`},
		{"on one cluster", "[{name: dev, namespaceSuffix: -dev}, {name: qa, namespaceSuffix: -qa}]", "", `web-cluster, wave 0, rank 0
  roles in roles of https://default at v1, label ""
web-environments, wave 1, rank 0
  tests-qa in own of https://default at v1, label "qa"
  web-dev in web-dev of https://default at v1, label "dev"
  web-qa in web-qa of https://default at v1, label "qa"
`},
		{"one of those on one cluster", "[{name: dev}, {name: qa}]", "qa", `web-cluster, wave 0, rank 0
  roles in roles of https://default at v1, label ""
web-qa, wave 1, rank 0
  tests-qa in own of https://default at v1, label "qa"
  web-qa in web of https://default at v1, label "qa"
`},
		{"two on one cluster, one on another", "[{name: dev, revision: main}, {name: qa}, {name: prod, server: https://prod}]",
			"", `web-cluster, wave 0, rank 0
  roles-dev-qa in roles of https://default at main, label ""
  roles-prod in roles of https://prod at v1, label ""
web-environments, wave 1, rank 0
  tests-qa in own of https://default at v1, label "qa"
  web-dev in web of https://default at main, label "dev"
  web-qa in web of https://default at v1, label "qa"
  web-prod in web of https://prod at v1, label "prod"
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := load(t, test.environments)
			sets, err := fleet.Sets(f, test.environment)
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(f, sets); got != test.want {
				t.Errorf("sets are\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	if sets, err := fleet.Sets(load(t, "[{name: dev}, {name: prod}]"), "prd"); err == nil || !strings.Contains(err.Error(), `"prod"`) {
		t.Errorf("an unknown environment has sets %v, %v", sets, err)
	}
}

// TestInPromotionOrder rolls out one environment after the other, after what they share.
func TestInPromotionOrder(t *testing.T) {
	t.Parallel()
	for environments, want := range map[string]string{
		"[{name: dev}, {name: qa, server: https://qa}]": "web-dev 0 0; web-qa 1 1",
		"[{name: dev}, {name: qa}]":                     "web-cluster 0 0; web-dev 1 0; web-qa 2 1",
		"[{name: dev}]":                                 "web - 0",
		"[]":                                            "web - 0",
	} {
		f := load(t, environments)
		sets, err := fleet.Sets(f, "")
		if err != nil {
			t.Fatal(err)
		}
		if same := fleet.InPromotionOrder(f, sets); len(same) != len(sets) {
			t.Errorf("%s has %d sets without promotion, want %d", environments, len(same), len(sets))
		}
		f.Settings.Promotion = true
		var got []string
		for _, s := range fleet.InPromotionOrder(f, sets) {
			wave := "-"
			if s.Wave != nil {
				wave = fmt.Sprint(*s.Wave)
			}
			got = append(got, fmt.Sprint(s.Name, " ", wave, " ", s.Rank))
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%s is rolled out as %s, want %s", environments, got, want)
		}
	}
}

func TestRestrictedTo(t *testing.T) {
	t.Parallel()
	f := load(t, "[{name: dev}, {name: qa}]")
	sets, err := fleet.Sets(f, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"roles", "tests web"} {
		var names []string
		part := sets[i].RestrictedTo(f.Applications)
		for _, app := range part.Listed {
			names = append(names, app.Name)
		}
		if got := strings.Join(names, " "); got != want || part.Rest {
			t.Errorf("set %s contains %s, want %s", part.Name, got, want)
		}
	}
}

func TestNameOfFleet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, url, want string }{
		{"", "https://user:secret@git.example.com/shop.git?ref=x", "shop"},
		{"", "git@git.example.com:org/shop.git", "shop"},
		{"own", "https://git.example.com/shop.git", "own"},
	} {
		f := &fleet.Fleet{}
		f.Settings.Name, f.Settings.RepoURL = test.name, test.url
		if got := fleet.NameOf(f); got != test.want {
			t.Errorf("the fleet of %s is called %s, want %s", test.url, got, test.want)
		}
	}
}
