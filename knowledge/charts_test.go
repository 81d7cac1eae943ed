package knowledge

import (
	"slices"
	"strings"
	"testing"
)

// TestChartsGiveTheirReasons: a record says what it is about, once, in groups
// that are spelt as in kinds/, with a reason and a source.
func TestChartsGiveTheirReasons(t *testing.T) {
	b := Default()
	known := func(chart, group string) {
		if ending, any := strings.CutPrefix(group, anything); any {
			for name := range b.groups {
				if strings.HasSuffix(name, ending) {
					return
				}
			}
		} else if f := b.file(group); f != nil && f.Group == group {
			return
		}
		t.Errorf("%s: there is no group %q in kinds/", chart, group)
	}
	seen := map[string]string{}
	for _, c := range b.Charts() {
		if c.Why == "" || !strings.HasPrefix(c.Source, "https://") {
			t.Errorf("%s: no reason or no source", c.Name)
		}
		if _, ok := b.Rung(c.Rung); !ok {
			t.Errorf("%s: there is no rung %q", c.Name, c.Rung)
		}
		for _, name := range append([]string{c.Name}, c.Others...) {
			for _, repo := range append(c.Repos, strings.Repeat(anything, 1-min(len(c.Repos), 1))) {
				if repo == "" {
					continue
				}
				if other, twice := seen[repo+" "+name]; twice {
					t.Errorf("%s of %s is also a name of %s", name, repo, other)
				}
				seen[repo+" "+name] = c.Name
			}
		}
		for _, group := range slices.Concat(c.Provides, c.Needs) {
			known(c.Name, group)
		}
		if c.Rung == "crds" && len(c.Provides) == 0 {
			t.Errorf("%s: it is for definitions, and brings none", c.Name)
		}
		stubs, err := c.Stubs()
		if err != nil || len(stubs) != len(c.Objects) {
			t.Errorf("%s: %v", c.Name, err)
		}
		for _, stub := range stubs {
			if k, ok := b.Kind(stub.ID.Group, stub.ID.Kind); !ok || k.Scope != "cluster" {
				t.Errorf("%s: %s is of a kind that is unknown, or has a namespace, which depends on who installs it", c.Name, stub.ID)
			}
		}
	}
	if len(seen) < 70 {
		t.Errorf("only %d charts are known", len(seen))
	}
}

// TestChart makes sure that a record about a registry goes before one about all,
// and says nothing about charts of that name elsewhere.
func TestChart(t *testing.T) {
	b := Default()
	for _, tt := range []struct{ repo, chart, provides string }{
		{"https://charts.jetstack.io", "cert-manager", "cert-manager.io"},
		{"oci://registry.example.com/mirror", "redis-operator", "redis.redis.opstreelabs.in"},
		{"https://spotahome.github.io/redis-operator", "redis-operator", "databases.spotahome.com"},
		{"https://helm.altinity.com", "clickhouse-operator", "clickhouse.altinity.com"},
		{"oci://ghcr.io/clickhouse", "clickhouse-operator-helm", "clickhouse.com"},
		{"https://istio-release.storage.googleapis.com/charts", "base", "networking.istio.io"},
		{"", "kagent-crds", "kagent.dev"},
		{"https://charts.example.com", "base", ""},
		{"https://charts.example.com", "never-heard-of", ""},
	} {
		c, ok := b.Chart(tt.repo, tt.chart)
		if ok != (tt.provides != "") || ok && !c.InstallsGroup(tt.provides) {
			t.Errorf("%s of %q: %+v, %v", tt.chart, tt.repo, c, ok)
		}
	}
}

// TestProbers makes sure that a program looks for kinds only when it is told to.
func TestProbers(t *testing.T) {
	for _, p := range programs().Discoverers {
		if len(p.Images) == 0 || p.EnabledBy == "" || p.Why == "" || !strings.HasPrefix(p.Source, "https://") {
			t.Errorf("%+v: something is missing", p)
		}
		for _, group := range p.Seeks {
			if f := Default().file(group); f == nil || f.Group != group {
				t.Errorf("%s: there is no group %q in kinds/", p.Images[0], group)
			}
		}
	}
	p, ok := Default().Discoverer("quay.io/cilium/operator-generic:v1.18.0")
	if !ok {
		t.Fatal("the operator of Cilium is not known")
	}
	for _, tt := range []struct {
		name, value string
		want        bool
	}{
		{"enable-gateway-api", "true", true}, {"--enable-gateway-api", "true", true}, {"", "--enable-gateway-api", true},
		{"--enable-gateway-api", "false", false}, {"enable-ipv6", "true", false},
	} {
		if got := p.IsEnabledBy(tt.name, tt.value); got != tt.want {
			t.Errorf("%s %s: %v", tt.name, tt.value, got)
		}
	}
}
