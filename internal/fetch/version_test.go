package fetch

import (
	"cmp"
	"slices"
	"testing"

	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	helmregistry "helm.sh/helm/v4/pkg/registry"
	helmrepo "helm.sh/helm/v4/pkg/repo/v1"
)

// TestVersionsAsHelm compares the choice of a version, and addresses in an index, with Helm's own.
func TestVersionsAsHelm(t *testing.T) {
	versions := []string{"1.2.3", "1.10.0", "2.0.0-rc.1", "v1.9.0", "1.2.4+build.5", "0.9", "latest", "1.10.0-alpha", "0.0.1"}
	of := helmrepo.IndexFile{Entries: map[string]helmrepo.ChartVersions{}}
	for _, v := range versions {
		of.Entries["a"] = append(of.Entries["a"], &helmrepo.ChartVersion{Metadata: &helmchart.Metadata{Name: "a", Version: v}})
	}
	of.SortEntries()
	slices.SortStableFunc(versions, newestFirst)
	for i, v := range of.Entries["a"] {
		if versions[i] != v.Version {
			t.Errorf("version %d is %s, of Helm %s", i, versions[i], v.Version)
		}
	}
	for _, wanted := range []string{
		"", "*", "1.2.3", "v1.2.3", "1.9.0", "v1.9.0", "1.2.4", "1.2.4+build.5", "1.2.4+other", "^1", "~1.2", ">=1.2.3 <1.10", ">0.0.0-0", "1.x",
		"1.2", "2", ">1", "2.0.0-rc.1", "^2.0.0-0", "3.0.0", "latest", "none",
	} {
		got := "none fits"
		if i := bestVersion(versions, wanted); i >= 0 {
			got = versions[i]
		}
		tag, _ := helmregistry.GetTagMatchingVersionOrConstraint(versions, wanted)
		if tag = cmp.Or(tag, "none fits"); got != tag {
			t.Errorf("%q: %s, of a registry Helm takes %s", wanted, got, tag)
		}
		if wanted == "latest" {
			continue // not a range: of a repository, Helm and choose reject it
		}
		entry, err := of.Get("a", wanted)
		if want := "none fits"; err == nil && got != entry.Version || err != nil && got != want {
			t.Errorf("%q: %s, of a repository Helm takes %v, %v", wanted, got, entry, err)
		}
	}
	for _, base := range []string{
		"https://a.example", "https://a.example/", "https://a.example/b", "https://a.example/b/?c=d", "https://a.example/b%2Fc",
		"https://a.example/b/../c",
	} {
		for _, address := range []string{
			"index.yaml", "/x/a.tgz", "../a.tgz", "https://b.example/a.tgz", "a b.tgz", "a%2Fb.tgz?e=f", "", "%zz", "//b.example/a",
		} {
			got, gotErr := resolveURL(base, address)
			want, wantErr := helmrepo.ResolveReferenceURL(base, address)
			if (gotErr == nil) != (wantErr == nil) || gotErr == nil && got != want {
				t.Errorf("%s in %s: %s, %v; want %s, %v", address, base, got, gotErr, want, wantErr)
			}
		}
	}
}
