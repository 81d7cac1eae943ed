package argocd

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Surroundings are objects that decide whether Argo CD syncs an Application: AppProjects and the
// Secrets of clusters. Others may exist that were not read; without any of a kind, it is unknown.
type Surroundings struct {
	projects map[string]project
	// clusters are the names and servers of clusters.
	clusters map[string]bool
}

// NewSurroundings finds what decides among objects.
func NewSurroundings(objs []object.Object) Surroundings {
	s := Surroundings{projects: map[string]project{}, clusters: map[string]bool{}}
	for _, o := range objs {
		switch {
		case IsProject(o.ID):
			s.projects[o.ID.Name] = project{o}
		case IsCluster(o):
			for _, key := range []string{"name", "server"} {
				decoded, _ := base64.StdEncoding.DecodeString(o.Get("data", key).Text())
				for _, value := range []string{o.Get("stringData", key).Text(), string(decoded)} {
					if value != "" {
						s.clusters[strings.TrimSuffix(value, "/")] = true
					}
				}
			}
		}
	}
	return s
}

// IsCluster reports whether an object is the Secret of a cluster
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters).
func IsCluster(o object.Object) bool {
	return o.Label("argocd.argoproj.io/secret-type") == "cluster" && o.ID.Group == "" && o.ID.Kind == "Secret"
}

// Content is an object that an Application deploys.
type Content struct {
	ID object.ID
	// Namespaced is false for objects of the whole cluster. Unknown kinds are left out.
	Namespaced bool
}

// Obstacle is a reason why an Application does not become healthy unless somebody helps.
type Obstacle struct {
	Why, Remedy string
	Kind        ObstacleKind
}

// ObstacleKind says who can help.
type ObstacleKind int

const (
	// Unasked means that somebody has to sync the Application.
	Unasked ObstacleKind = iota
	// Closed means that a sync window has to open or close.
	Closed
	// Refused means that Argo CD rejects the Application or what it deploys.
	Refused
)

// Obstacles returns why Argo CD does not sync an Application by itself, or not all of what it
// deploys. synced means that something else does, such as the steps of an ApplicationSet.
func (s Surroundings) Obstacles(app object.Object, contents []Content, synced bool) []Obstacle {
	spec := app.Get("spec")
	var all []Obstacle
	switch skip, _ := app.Annotation("argocd.argoproj.io/skip-reconcile"); {
	case skip == "true":
		all = append(all, Obstacle{"its annotation argocd.argoproj.io/skip-reconcile makes Argo CD ignore it",
			"remove the annotation", Unasked})
	case synced || IsAutomated(spec) || app.Get("operation").Exists():
	case spec.Get("syncPolicy", "automated").Exists():
		all = append(all, Obstacle{"it is not synced automatically, because syncPolicy.automated.enabled is false",
			"set it to true, or sync the Application by hand each time", Unasked})
	default:
		all = append(all, Obstacle{"it is not synced automatically",
			"set syncPolicy.automated, or sync the Application by hand each time", Unasked})
	}
	for _, source := range SourcesOf(spec) {
		content := source.Get("path").Text() + source.Get("chart").Text()
		if content == "" && spec.Get("sources").Exists() {
			content = source.Get("ref").Text()
		}
		if content == "" || source.Get("repoURL").Text() == "" { // validateSourcePermissions
			all = append(all, Obstacle{"it has a source without repoURL, or without path and chart", "complete the source", Refused})
		}
	}
	return append(append(all, s.unknownCluster(spec)...), s.refusals(app, contents)...)
}

// destination is where an Application deploys to. The name or the server may be unknown.
type destination struct{ server, name, namespace string }

func destinationOf(spec object.Value) destination {
	to := spec.Get("destination")
	return destination{strings.TrimSuffix(to.Get("server").Text(), "/"), to.Get("name").Text(), to.Get("namespace").Text()}
}

// resolved adds what is known about the cluster that Argo CD runs in.
func (d destination) resolved() destination {
	if d.server == InCluster || d.name == "in-cluster" {
		d.server, d.name = InCluster, "in-cluster"
	}
	return d
}

func (d destination) cluster() string {
	if d.name != "" {
		return d.name
	}
	return d.server
}

// unknownCluster reports a cluster that has no Secret, if others have one.
func (s Surroundings) unknownCluster(spec object.Value) []Obstacle {
	to := destinationOf(spec).resolved()
	if len(s.clusters) == 0 || to.cluster() == "" || to.server == InCluster || s.clusters[to.name] || s.clusters[to.server] {
		return nil
	}
	return []Obstacle{{fmt.Sprintf("no Secret that was read registers its cluster %s", to.cluster()),
		"correct spec.destination, or register the cluster", Refused}}
}

// refusals are what the AppProject of an Application does not allow.
func (s Surroundings) refusals(app object.Object, contents []Content) []Obstacle {
	spec := app.Get("spec")
	name := spec.Get("project").Text()
	if name == "" {
		name = DefaultProject
	}
	p, known := s.projects[name]
	switch {
	case !known && (name == DefaultProject || len(s.projects) == 0):
		return nil
	case !known:
		return []Obstacle{{fmt.Sprintf("its AppProject %s is not among those that were read", name),
			"correct spec.project, or add the AppProject", Refused}}
	}
	var all []Obstacle
	for _, source := range SourcesOf(spec) {
		if url := source.Get("repoURL").Text(); url != "" && p.forbidsSource(url) {
			all = append(all, Obstacle{fmt.Sprintf("its AppProject %s does not allow its source %s", name, finding.Sanitize(url)),
				"add it to sourceRepos of the AppProject", Refused})
		}
	}
	to := destinationOf(spec).resolved()
	if to.cluster() != "" && p.forbidsDestination(to.server, to.name, to.namespace) {
		all = append(all, Obstacle{fmt.Sprintf("its AppProject %s does not allow namespace %q of cluster %s", name, to.namespace,
			to.cluster()), "add it to destinations of the AppProject", Refused})
	} else {
		all = append(all, p.refusedContents(to, contents)...)
	}
	return append(all, p.closedWindows(app.ID.Name, destinationOf(spec))...)
}

// closedWindows are the sync windows that keep an Application from being synced, for a time.
func (p project) closedWindows(name string, to destination) []Obstacle {
	var all []Obstacle
	restricted := ""
	for _, w := range p.windows(name, to) {
		what := fmt.Sprintf("(schedule %q, duration %s)", w.Get("schedule").Text(), w.Get("duration").Text())
		switch w.Get("kind").Text() {
		case "deny":
			all = append(all, Obstacle{fmt.Sprintf("a deny window of its AppProject %s %s prevents its sync", p.ID.Name, what),
				"take the Application out of the window", Closed})
		case "allow":
			if isAlwaysOpen(w) {
				return all
			}
			restricted = what
		}
	}
	if restricted != "" {
		all = append(all, Obstacle{fmt.Sprintf("it is synced only in an allow window of its AppProject %s %s", p.ID.Name,
			restricted), "take the Application out of the window", Closed})
	}
	return all
}

// isAlwaysOpen reports whether a window that opens each minute, hour or day does so before it
// closes. It takes other windows for ones that close.
func isAlwaysOpen(window object.Value) bool {
	number, hours := strings.CutSuffix(window.Get("duration").Text(), "h")
	n, err := strconv.Atoi(number)
	fields := strings.Fields(window.Get("schedule").Text())
	if !hours || err != nil || len(fields) != 5 || !slices.Equal(fields[2:], []string{"*", "*", "*"}) {
		return false
	}
	return n >= 24 || n > 0 && fields[1] == "*"
}

// refusedContents are the kinds and namespaces that a project does not allow, each once.
func (p project) refusedContents(to destination, contents []Content) []Obstacle {
	var kinds, namespaces []string
	for _, c := range contents {
		kind := c.ID.GroupKind()
		if p.forbidsKind(c.ID, c.Namespaced) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		if ns := c.ID.Namespace; c.Namespaced && ns != "" && to.cluster() != "" && p.forbidsDestination(to.server, to.name, ns) &&
			!slices.Contains(namespaces, ns) {
			namespaces = append(namespaces, ns)
		}
	}
	var all []Obstacle
	if len(kinds) > 0 {
		all = append(all, Obstacle{fmt.Sprintf("its AppProject %s does not allow it to deploy %s", p.ID.Name, finding.Few(kinds)),
			"allow these kinds in the AppProject", Refused})
	}
	if len(namespaces) > 0 {
		all = append(all, Obstacle{fmt.Sprintf("its AppProject %s does not allow it to deploy to %s", p.ID.Name,
			finding.Few(namespaces)), "add them to destinations of the AppProject", Refused})
	}
	return all
}
