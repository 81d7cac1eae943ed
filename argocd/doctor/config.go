package doctor

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

func (i *installation) checkOldPlugins() (all []finding.Finding) {
	if v, _ := i.entry(configMap, "configManagementPlugins"); v.Exists() {
		all = append(all, v.fault("plugins in %s are from before 2.8", configMap))
	}
	return all
}

// firstWithPluginNames is the first version in which Applications can name a sidecar
// plugin. oldestTested is the oldest version that the plugin is tested with.
var (
	firstWithPluginNames = knowledge.Release{Major: 2, Minor: 6}
	oldestTested         = knowledge.OldestArgoCD
	// firstWithDoubleStar is the first version whose exclusions support "**".
	firstWithDoubleStar = knowledge.Release{Major: 3, Minor: 6}
)

func (i *installation) checkVersion() (all []finding.Finding) {
	for _, w := range i.workloadsOf(repoServer) {
		v, ok := knowledge.ReleaseOf(w.image.tag)
		at := w.program
		if w.isComplete {
			at = at.at("image")
		}
		switch {
		case !ok || !v.Before(oldestTested):
		case v.Before(firstWithPluginNames):
			all = append(all, at.fault("Applications of Argo CD %s cannot name a plugin that is a sidecar", v))
		default:
			all = append(all, withSeverity(finding.Note, at.fault("Argo CD %s is older than every version that the plugin is tested with", v)))
		}
	}
	return all
}

// checkTimeout compares --render-timeout with the timeout of the controller for the
// repo-server; the shorter one applies.
func (i *installation) checkTimeout() (all []finding.Finding) {
	s := i.setting(controllerTimeout)
	if !s.known {
		return nil
	}
	waits := float64(s.effective(controllerTimeout))
	i.forEachSidecar(func(_ *workload, c *sidecar) {
		if c.stock || !c.serves || c.flagsErr != nil || waits == 0 {
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

func (i *installation) checkServerTimeout() []finding.Finding {
	serverSetting, controllerSetting := i.setting(serverTimeout), i.setting(controllerTimeout)
	if !serverSetting.known || !controllerSetting.known ||
		serverSetting.effective(serverTimeout) >= controllerSetting.effective(controllerTimeout) {
		return nil
	}
	at := serverSetting.node
	if !serverSetting.isSet && controllerSetting.isSet {
		at = controllerSetting.node
	}
	return []finding.Finding{at.fault("the API server waits %ds for manifests, and the controller %ds",
		serverSetting.effective(serverTimeout), controllerSetting.effective(controllerTimeout))}
}

func (i *installation) checkExecTimeout() (all []finding.Finding) {
	i.forEachSidecar(func(_ *workload, s *sidecar) {
		for _, e := range s.at("env").items() {
			if e.name() == "ARGOCD_EXEC_TIMEOUT" {
				all = append(all, e.fault("it has no effect here"))
			}
		}
	})
	return all
}

// kernelMemory is the part of a container's memory limit that is reserved for the
// kernel.
const kernelMemory = 128 << 20

func (i *installation) checkMemory() (all []finding.Finding) {
	i.forEachSidecar(func(_ *workload, s *sidecar) {
		at := s.at("resources", "limits", "memory")
		if !at.Exists() {
			all = append(all, withRemedy(withSeverity(finding.Warning,
				s.fault("it has no memory limit, so it can use memory that other Pods on the node need")),
				"set resources.limits.memory; docs/operations.md explains how to calculate it"))
			return
		}
		if s.stock || !s.serves || s.flagsErr != nil {
			return
		}
		if len(s.flags.Unlimited) > 0 {
			slices.Sort(s.flags.Unlimited)
			all = append(all, withSeverity(finding.Warning,
				s.fault("%s without a limit may use more memory than the container has", strings.Join(s.flags.Unlimited, ", "))))
			return
		}
		quantity, err := resource.ParseQuantity(at.Text())
		limit := quantity.Value()
		if err != nil || !s.flags.ParallelSet || s.flags.Parallel == 0 {
			return
		}
		required := s.flags.Server + int64(s.flags.Parallel)*s.flags.Worker + kernelMemory
		switch {
		case limit < s.flags.Server+s.flags.Worker:
			all = append(all, at.fault("the limit is %s, but the server with one rendering may use %s", mebibytes(limit),
				mebibytes(s.flags.Server+s.flags.Worker)))
		case limit < required:
			all = append(all, withSeverity(finding.Warning,
				at.fault("the limit is %s, but the flags allow %s", mebibytes(limit), mebibytes(required))))
		}
	})
	return all
}

func (i *installation) checkParallel() (all []finding.Finding) {
	i.forEachSidecar(func(_ *workload, s *sidecar) {
		switch {
		case s.stock:
			all = append(all, withRemedy(withSeverity(finding.Note,
				s.fault("%s has no limit on concurrent renderings", stockServer)),
				"use cmp serve, or give the container enough memory for all concurrent renderings"))
		case !s.serves || s.flagsErr != nil:
		case s.flags.ParallelSet && s.flags.Parallel == 0:
			all = append(all, s.fault("--parallel=0 means no limit"))
		case !s.flags.ParallelSet && !s.at("resources", "limits", "cpu").Exists():
			all = append(all, s.fault("neither --parallel nor a CPU limit is set"))
		}
	})
	return all
}

func (i *installation) checkMessageSize() (all []finding.Finding) {
	for _, o := range []option{grpcSize, controllerGRPC} {
		if s := i.setting(o); s.isSet && s.effective(o) < 100 {
			all = append(all, s.fault("the %s accepts messages of up to %d MiB", o.role, s.effective(o)))
		}
	}
	return all
}

// componentPaths are paths that a component may have, relative to its directory or to
// the root of a repository.
var componentPaths = []string{"component.yaml", "ladder.yaml", "Chart.yaml", "values.yaml", "values-prod.yaml", "templates",
	"templates/deployment.yaml", "templates/_helpers.tpl", "crds", "charts", "charts/common-1.0.0.tgz",
	"kustomization.yaml", "kustomization.yml", "deployment.yaml", "deployment.yml", "deployment.json"}

// excludes reports whether a pattern matches a path or a parent directory, with the
// rules of Argo CD.
func excludes(pattern, p string) bool {
	for ; p != "." && p != "/"; p = path.Dir(p) {
		if ok, err := path.Match(pattern, p); ok && err == nil {
			return true
		}
	}
	return false
}

func (i *installation) checkTarExclusions() (all []finding.Finding) {
	s := i.setting(exclusions)
	git := false
	v, known := knowledge.Release{}, false
	for _, w := range i.workloadsOf(repoServer) {
		v, known = knowledge.ReleaseOf(w.image.tag)
	}
	for _, pattern := range s.list() {
		if _, err := path.Match(pattern, ""); err != nil {
			all = append(all, withRemedy(s.fault("%q is not a valid pattern, so each request fails", pattern), "correct it"))
			continue
		}
		git = git || excludes(pattern, ".git/objects")
		if slices.Contains(strings.Split(pattern, "/"), "**") && known && v.Before(firstWithDoubleStar) {
			all = append(all, withRemedy(withSeverity(finding.Warning,
				s.fault("Argo CD %s treats ** in %q as *, which does not match several directories", v, pattern)),
				"write a pattern for each depth, such as .git/*"))
		}
		for _, at := range []string{"", "shop/", "apps/shop/", "apps/shop/base/"} {
			n := slices.IndexFunc(componentPaths, func(name string) bool { return excludes(pattern, at+name) })
			if n >= 0 {
				all = append(all, withRemedy(s.fault("%q excludes %s, which a component may need", pattern, at+componentPaths[n]),
					"exclude less, such as only .git/*"))
				break
			}
		}
	}
	if s.known && !git && i.anySidecar() {
		all = append(all, withSeverity(finding.Note,
			s.fault("the repo-server sends the git history (.git) with each request, which the plugin does not use")))
	}
	return all
}

func (i *installation) anySidecar() bool {
	return slices.ContainsFunc(i.workloadsOf(repoServer), func(w *workload) bool { return len(w.sidecars) > 0 })
}

func (i *installation) checkApplicationHealth() (all []finding.Finding) {
	const key = "resource.customizations.health.argoproj.io_Application"
	check, known := i.entry(configMap, key)
	if !known {
		return nil
	}
	if check.Text() != "" {
		if i.CheckHealth != nil {
			for _, wrong := range i.CheckHealth(check.Text()) {
				all = append(all, withSeverity(finding.Warning, check.fault("%s", wrong)))
			}
		}
		return all
	}
	if old, _ := i.entry(configMap, "resource.customizations"); strings.Contains(old.Text(), "argoproj.io/Application") {
		return nil
	}
	for name, v := range i.entries() {
		if normalizeKey(name) == normalizeKey(key) {
			all = append(all, withRemedy(withSeverity(finding.Warning,
				v.fault("Argo CD reads no health check for Applications from %s", name)), "write the key as %s", key))
		}
	}
	if len(all) > 0 {
		return all
	}
	check.field = ""
	if child, ok := i.findChild(); ok {
		all := []finding.Finding{
			i.withInstallRemedy(check.fault("no health check for Applications, although %s belongs to an app of apps", child))}
		for _, f := range i.families() {
			all = append(all, f.change())
		}
		return all
	}
	return []finding.Finding{i.withInstallRemedy(withSeverity(finding.Note,
		check.fault("no health check for Applications, without which Argo CD does not wait for them between waves")))}
}

// normalizeKey returns a key in lower case without separators, to recognize other
// spellings.
func normalizeKey(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "/", "", ".", "", "-", "").Replace(key))
}

func (i *installation) checkProgressiveSyncs() (all []finding.Finding) {
	s := i.setting(progressive)
	if !s.known || s.isTrue() {
		return nil
	}
	for _, set := range i.applicationSets {
		if strategy := set.at("spec", "strategy"); strategy.Get("type").Text() == "RollingSync" {
			all = append(all, strategy.fault("it has steps, but progressive syncs are disabled"))
		}
	}
	return all
}
