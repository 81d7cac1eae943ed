package argocd

import (
	"path"
	"strings"

	"github.com/gobwas/glob"

	"github.com/ladder-cmp/ladder/object"
)

// IsProject reports whether an object is an AppProject.
func IsProject(id object.ID) bool { return id.Group == Group && id.Kind == "AppProject" }

// DefaultProject is the AppProject that always exists.
const DefaultProject = "default"

// project is an AppProject: what its Applications may deploy, from where, to where and when.
// It is as strict as Argo CD (pkg/apis/application/v1alpha1/app_project_types.go), and allows
// what it cannot judge.
type project struct{ object.Object }

// forbidsSource reports whether no source may be in a repository.
func (p project) forbidsSource(url string) bool {
	allowed := false
	for _, entry := range p.Get("spec", "sourceRepos").Items() {
		pattern := entry.Text()
		is := matches(normalized(pattern), normalized(url), '/')
		if isDenial(pattern) && !is {
			return true
		}
		allowed = allowed || is
	}
	return !allowed
}

// normalized is a URL of a repository as Argo CD compares it (util/git).
func normalized(url string) string {
	denial, url := isDenial(url), strings.ToLower(strings.TrimSpace(strings.TrimPrefix(url, "!")))
	if user, host, ssh := strings.Cut(url, "@"); ssh && !strings.Contains(user, "/") {
		url = user + "@" + strings.Replace(host, ":", "/", 1)
	}
	url = strings.TrimPrefix(strings.TrimSuffix(url, ".git"), "ssh://")
	if denial {
		return "!" + url
	}
	return url
}

// forbidsDestination reports whether nothing may be deployed to a namespace of a cluster. The
// name or the server of the cluster may be unknown.
func (p project) forbidsDestination(server, name, namespace string) bool {
	allowed := false
	for _, entry := range p.Get("spec", "destinations").Items() {
		to := func(field string) string { return entry.Get(field).Text() }
		byName, byServer := name != "" && matches(to("name"), name), server != "" && matches(to("server"), server)
		inNamespace := matches(to("namespace"), namespace)
		unknown := name == "" && to("name") != "" || server == "" && to("server") != ""
		switch {
		case (byServer || byName) && inNamespace:
			allowed = true
		case unknown:
			return false
		case !byName && isDenial(to("name")), !byServer && isDenial(to("server")) && inNamespace, !inNamespace &&
			isDenial(to("namespace")) && byServer:
			return true
		}
	}
	return !allowed
}

// forbidsKind reports whether no object of a kind with this name may be deployed. Objects
// without a namespace have to be allowed, those with one must not be forbidden.
func (p project) forbidsKind(id object.ID, namespaced bool) bool {
	listed := func(list string) bool {
		for _, entry := range p.Get("spec", list).Items() {
			name := entry.Get("name").Text()
			if fits(entry.Get("kind").Text(), id.Kind) && fits(entry.Get("group").Text(), id.Group) &&
				(namespaced || name == "" || fits(name, id.Name)) {
				return true
			}
		}
		return false
	}
	if namespaced {
		return p.Get("spec", "namespaceResourceWhitelist").Exists() && !listed("namespaceResourceWhitelist") ||
			listed("namespaceResourceBlacklist")
	}
	return !listed("clusterResourceWhitelist") || listed("clusterResourceBlacklist")
}

// windows returns the sync windows of an Application.
func (p project) windows(name string, to destination) []object.Value {
	var all []object.Value
	for _, w := range p.Get("spec", "syncWindows").Items() {
		var set, matched int
		for field, is := range map[string]func(pattern string) bool{
			"applications": func(pattern string) bool { return matches(pattern, name) },
			"namespaces":   func(pattern string) bool { return matches(pattern, to.namespace) },
			"clusters": func(pattern string) bool {
				return to.server != "" && matches(pattern, to.server) || to.name != "" && matches(pattern, to.name)
			},
		} {
			patterns := w.Get(field).Items()
			if len(patterns) == 0 {
				continue
			}
			set++
			for _, pattern := range patterns {
				if is(pattern.Text()) {
					matched++
					break
				}
			}
		}
		if matched > 0 && (matched == set || w.Get("andOperator").Text() != "true") {
			all = append(all, w)
		}
	}
	return all
}

func isDenial(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// matches compares a value with a pattern, in which ! stands for all others.
func matches(pattern, value string, separators ...rune) bool {
	if isDenial(pattern) {
		return !matches(pattern[1:], value, separators...)
	}
	if pattern == "*" {
		return true
	}
	g, err := glob.Compile(pattern, separators...)
	return err == nil && g.Match(value)
}

func fits(pattern, value string) bool {
	is, err := path.Match(pattern, value)
	return is && err == nil
}
