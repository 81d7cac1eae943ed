package doctor

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ladder-cmp/ladder/internal/finding"
)

func (i *installation) oldPlugins() (all []finding.Finding) {
	if v, _ := i.entry(configMap, "configManagementPlugins"); v.Exists() {
		all = append(all, v.fault("plugins in %s are from before 2.8", configMap))
	}
	return all
}

// namedSidecars is the first version that supports them, testedFrom the oldest
// tested version.
var (
	namedSidecars = version{2, 6}
	testedFrom    = version{2, 14}
	// doubleStars is the first version whose exclusions support "**".
	doubleStars = version{3, 6}
)

func (i *installation) argoVersion() (all []finding.Finding) {
	for _, w := range i.of(repoServer) {
		v, ok := versionOf(w.image.tag)
		at := w.program
		if w.whole {
			at = at.at("image")
		}
		switch {
		case !ok || !v.before(testedFrom):
		case v.before(namedSidecars):
			all = append(all, at.fault("Applications of Argo CD %s cannot name a plugin that is a sidecar", v))
		default:
			all = append(all, as(finding.Note, at.fault("Argo CD %s is older than every version that the plugin is tested with", v)))
		}
	}
	return all
}

// timeout compares the two timeouts, of which the shorter applies.
func (i *installation) timeout() (all []finding.Finding) {
	s := i.setting(controllerTimeout)
	if !s.known {
		return nil
	}
	waits := float64(s.effective(controllerTimeout))
	i.sidecars(func(_ *workload, c *sidecar) {
		if c.stock || !c.serves || c.wrong != nil || waits == 0 {
			return
		}
		switch r := c.flags.RenderTimeout; {
		case r == 0:
			all = append(all, c.fault("renderings have no time limit, but the controller waits only %s", seconds(waits)))
		case r > waits/2:
			all = append(all, c.fault("a rendering may take %s of the %s that the controller waits", seconds(r), seconds(waits)))
		}
	})
	return all
}

func (i *installation) timeoutsDiffer() []finding.Finding {
	server, of := i.setting(serverTimeout), i.setting(controllerTimeout)
	if !server.known || !of.known || server.effective(serverTimeout) >= of.effective(controllerTimeout) {
		return nil
	}
	at := server.thing
	if !server.set && of.set {
		at = of.thing
	}
	return []finding.Finding{at.fault("the API server waits %ds for manifests, and the controller %ds", server.effective(serverTimeout), of.effective(controllerTimeout))}
}

func (i *installation) execTimeout() (all []finding.Finding) {
	i.sidecars(func(_ *workload, s *sidecar) {
		for _, e := range s.at("env").items() {
			if e.name() == "ARGOCD_EXEC_TIMEOUT" {
				all = append(all, e.fault("it has no effect here"))
			}
		}
	})
	return all
}

func (i *installation) badSetting() (all []finding.Finding) {
	for _, o := range options {
		s := i.setting(o)
		if !s.set {
			continue
		}
		_, err := strconv.ParseUint(s.text, 10, 31)
		bad := o.kind == number && err != nil || o.kind == truth && !s.on() && !strings.EqualFold(s.text, "false")
		if bad {
			all = append(all, instead(s.fault("%q is invalid, so Argo CD uses the default, %s", s.text, o.fallback), "write %s", o.kind))
		}
	}
	return all
}

// systemMemory is reserved for the kernel's memory of a container.
const systemMemory = 128 << 20

func (i *installation) memory() (all []finding.Finding) {
	i.sidecars(func(_ *workload, s *sidecar) {
		at := s.at("resources", "limits", "memory")
		if !at.Exists() {
			all = append(all, instead(as(finding.Warning, s.fault("it has no memory limit, so it can use memory that others on the node need")), "set resources.limits.memory; docs/operations.md has the sum"))
			return
		}
		if s.stock || !s.serves || s.wrong != nil {
			return
		}
		if len(s.flags.Unlimited) > 0 {
			slices.Sort(s.flags.Unlimited)
			all = append(all, as(finding.Warning, s.fault("%s without a limit may use more memory than the container has", strings.Join(s.flags.Unlimited, ", "))))
			return
		}
		quantity, err := resource.ParseQuantity(at.Text())
		limit := quantity.Value()
		if err != nil || !s.flags.ParallelSet || s.flags.Parallel == 0 {
			return
		}
		need := s.flags.Server + int64(s.flags.Parallel)*s.flags.Worker + systemMemory
		switch {
		case limit < s.flags.Server+s.flags.Worker:
			all = append(all, at.fault("the limit is %s, but the server with one rendering may use %s", mebibytes(limit), mebibytes(s.flags.Server+s.flags.Worker)))
		case limit < need:
			all = append(all, as(finding.Warning, at.fault("the limit is %s, but the flags allow %s", mebibytes(limit), mebibytes(need))))
		}
	})
	return all
}

func (i *installation) parallel() (all []finding.Finding) {
	i.sidecars(func(_ *workload, s *sidecar) {
		switch {
		case s.stock:
			all = append(all, instead(as(finding.Note, s.fault("%s has no limit on concurrent renderings", stockServer)), "run cmp serve, or give it memory for all"))
		case !s.serves || s.wrong != nil:
		case s.flags.ParallelSet && s.flags.Parallel == 0:
			all = append(all, s.fault("--parallel=0 means no limit"))
		case !s.flags.ParallelSet && !s.at("resources", "limits", "cpu").Exists():
			all = append(all, s.fault("neither --parallel nor a CPU limit is set"))
		}
	})
	return all
}

func (i *installation) grpcSize() (all []finding.Finding) {
	for _, o := range []option{grpcSize, controllerGRPC} {
		if s := i.setting(o); s.set && s.effective(o) < 100 {
			all = append(all, s.fault("the %s takes messages of up to %d MiB", o.role, s.effective(o)))
		}
	}
	return all
}

// needed are paths of a component, in its directory and at the root of a
// repository.
var needed = []string{"component.yaml", "ladder.yaml", "Chart.yaml", "values.yaml", "values-prod.yaml", "templates", "templates/deployment.yaml", "templates/_helpers.tpl", "crds", "charts", "charts/common-1.0.0.tgz",
	"kustomization.yaml", "kustomization.yml", "deployment.yaml", "deployment.yml", "deployment.json"}

// excludes reports whether a pattern matches a path or a parent directory, like
// Argo CD.
func excludes(pattern, p string) bool {
	for ; p != "." && p != "/"; p = path.Dir(p) {
		if ok, err := path.Match(pattern, p); ok && err == nil {
			return true
		}
	}
	return false
}

func (i *installation) tarExclusions() (all []finding.Finding) {
	s := i.setting(exclusions)
	git := false
	v, known := version{}, false
	for _, w := range i.of(repoServer) {
		v, known = versionOf(w.image.tag)
	}
	for _, pattern := range s.list() {
		if _, err := path.Match(pattern, ""); err != nil {
			all = append(all, instead(s.fault("%q is not a valid pattern, so each request fails", pattern), "correct it"))
			continue
		}
		git = git || excludes(pattern, ".git/objects")
		if slices.Contains(strings.Split(pattern, "/"), "**") && known && v.before(doubleStars) {
			all = append(all, instead(as(finding.Warning, s.fault("Argo CD %s reads ** in %q as *, which does not match several directories", v, pattern)), "write a pattern for each depth, such as .git/*"))
		}
		for _, at := range []string{"", "shop/", "apps/shop/", "apps/shop/base/"} {
			n := slices.IndexFunc(needed, func(name string) bool { return excludes(pattern, at+name) })
			if n >= 0 {
				all = append(all, instead(s.fault("%q excludes %s, which a component may need", pattern, at+needed[n]), "exclude less, such as only .git/*"))
				break
			}
		}
	}
	if s.known && !git && i.anySidecar() {
		all = append(all, as(finding.Note, s.fault("each request sends the git history (.git), which the plugin does not use")))
	}
	return all
}

func (i *installation) anySidecar() bool {
	return slices.ContainsFunc(i.of(repoServer), func(w *workload) bool { return len(w.sidecars) > 0 })
}

func (i *installation) applicationHealth() (all []finding.Finding) {
	const key = "resource.customizations.health.argoproj.io_Application"
	check, known := i.entry(configMap, key)
	if !known {
		return nil
	}
	if check.Text() != "" {
		if i.CheckHealth != nil {
			for _, wrong := range i.CheckHealth(check.Text()) {
				all = append(all, as(finding.Warning, check.fault("%s", wrong)))
			}
		}
		return all
	}
	if old, _ := i.entry(configMap, "resource.customizations"); strings.Contains(old.Text(), "argoproj.io/Application") {
		return nil
	}
	for name, v := range i.entriesOf(configMap) {
		if letters(name) == letters(key) {
			all = append(all, instead(as(finding.Warning, v.fault("Argo CD reads no health check for Applications from %s", name)), "write the key as %s", key))
		}
	}
	if len(all) > 0 {
		return all
	}
	check.field = ""
	if child, ok := i.child(); ok {
		return []finding.Finding{i.byInstall(check.fault("no health check for Applications, although %s belongs to an app of apps", child))}
	}
	return []finding.Finding{i.byInstall(as(finding.Note, check.fault("no health check for Applications, without which waves between Applications have no effect")))}
}

// letters returns the letters of a key, to recognize other spellings with hyphens,
// underscores or capitals.
func letters(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "/", "", ".", "", "-", "").Replace(key))
}

// child finds an Application that belongs to an app of apps: it has a wave or a
// tracking annotation.
func (i *installation) child() (string, bool) {
	names := map[string]bool{}
	for _, a := range i.applications {
		if !a.pattern {
			names[a.Get("metadata", "name").Text()] = true
		}
	}
	for _, a := range i.applications {
		meta := a.Get("metadata")
		own := meta.Get("name").Text()
		instance := meta.Get("labels", "argocd.argoproj.io/instance").Text()
		if tracking, _, ok := strings.Cut(meta.Get("annotations", "argocd.argoproj.io/tracking-id").Text(), ":"); ok {
			instance = tracking
		}
		if meta.Get("annotations", "argocd.argoproj.io/sync-wave").Exists() || instance != "" && instance != own && names[instance] {
			return a.object, true
		}
	}
	return "", false
}

func (i *installation) progressiveSyncs() (all []finding.Finding) {
	s := i.setting(progressive)
	if !s.known || s.on() {
		return nil
	}
	for _, set := range i.applicationSets {
		if strategy := set.at("spec", "strategy"); strategy.Get("type").Text() == "RollingSync" {
			all = append(all, strategy.fault("it has steps, and progressive syncs are off"))
		}
	}
	return all
}
