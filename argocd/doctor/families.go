package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// family is an Application with the Applications that it deploys, its children.
type family struct {
	parent   application
	children []application
}

// findChild returns an Application that belongs to an app of apps: it has a wave, or
// its tracking annotation or instance label names another Application of the input.
func (i *installation) findChild() (string, bool) {
	names := i.applicationsByName()
	for _, a := range i.applications {
		if _, ok := names[a.parentName()]; ok || a.Get("metadata", "annotations", object.SyncWave).Exists() {
			return a.object, true
		}
	}
	return "", false
}

func (i *installation) applicationsByName() map[string]application {
	all := map[string]application{}
	for _, a := range i.applications {
		if !a.isTemplate {
			all[a.Get("metadata", "name").Text()] = a
		}
	}
	return all
}

// parentName returns the name of the Application that deploys this one, by Argo CD's tracking
// annotation or, before 3.0, its label; empty if none does.
func (a application) parentName() string {
	meta := a.Get("metadata")
	parent := cmp.Or(meta.Get("labels", "argocd.argoproj.io/instance").Text(), meta.Get("labels", "app.kubernetes.io/instance").Text())
	if tracking, _, ok := strings.Cut(meta.Get("annotations", "argocd.argoproj.io/tracking-id").Text(), ":"); ok {
		parent = tracking
	}
	if _, name, ok := strings.Cut(parent, "_"); ok {
		parent = name // outside of Argo CD's namespace, the namespace comes first
	}
	if parent == meta.Get("name").Text() {
		return ""
	}
	return parent
}

// families returns the apps of apps of the input, in the order of their children.
func (i *installation) families() []*family {
	names := i.applicationsByName()
	var all []*family
	of := map[string]*family{}
	for _, a := range i.applications {
		name := a.parentName()
		parent, ok := names[name]
		if !ok {
			continue
		}
		if of[name] == nil {
			of[name] = &family{parent: parent}
			all = append(all, of[name])
		}
		of[name].children = append(of[name].children, a)
	}
	return all
}

// maxChildren is how many children a finding names.
const maxChildren = 5

// change says what the health check for Applications changes for the syncs and the health of the
// parent. A sync waits in each wave but the last; an object that is Degraded there fails it
// (gitops-engine, pkg/sync/sync_context.go).
func (f *family) change() finding.Finding {
	slices.SortStableFunc(f.children, func(x, y application) int { return cmp.Compare(x.wave(), y.wave()) })
	last := f.children[len(f.children)-1].wave()
	var waves, unhealthy []string
	isHeld := false
	for _, c := range f.children {
		wave := strconv.Itoa(c.wave())
		if c.wave() < last && !slices.Contains(waves, wave) {
			waves = append(waves, wave)
		}
		if state := c.Get("status", "health", "status").Text(); state != "" && state != "Healthy" {
			unhealthy = append(unhealthy, fmt.Sprintf("%s (%s, wave %s)", c.Get("metadata", "name").Text(), state, wave))
			isHeld = isHeld || c.wave() < last
		}
	}
	effect := "its syncs still end when its children exist, since they are all in the last wave"
	if len(waves) > 0 {
		effect = fmt.Sprintf("each of its syncs waits until the children of wave %s are healthy, and fails if one is Degraded",
			strings.Join(waves, ", then "))
	}
	message := fmt.Sprintf("with a health check for Applications, %s; its own health becomes the worst of %s", effect,
		finding.Counted(len(f.children), "child Application"))
	if more := len(unhealthy) - maxChildren; more > 0 {
		unhealthy = append(unhealthy[:maxChildren], fmt.Sprintf("and %d more", more))
	}
	severity, remedy := finding.Note, "no action needed"
	if len(waves) > 0 {
		remedy = "add the check when a longer sync of this Application is acceptable"
	}
	if len(unhealthy) > 0 {
		message += "; not healthy now: " + strings.Join(unhealthy, ", ")
		remedy = "expect this Application to show the state of these children"
	}
	if isHeld {
		severity, remedy = finding.Warning, "make the children before the last wave healthy first, or give them the last wave"
	}
	return withRemedy(withSeverity(severity, f.parent.fault("%s", message)), "%s", remedy)
}

// wave returns the sync wave of a child; 0 if it has none.
func (a application) wave() int {
	wave, _ := strconv.Atoi(a.Get("metadata", "annotations", object.SyncWave).Text()) // Argo CD ignores others
	return wave
}
