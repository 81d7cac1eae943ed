package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"github.com/ladder-cmp/ladder/internal/finding"
)

func (i *installation) checkRepoServer() []finding.Finding {
	if len(i.workloadsOf(repoServer)) > 0 {
		return nil
	}
	if len(i.applications) > 0 && len(i.workloads) == 0 && len(i.Values) == 0 && !i.Live {
		f := finding.Finding{Message: "checked only the Applications, because there is neither a Deployment " +
			"that runs argocd-repo-server nor values for the argo-cd chart"}
		return []finding.Finding{withRemedy(withSeverity(finding.Note, f),
			"add the manifests of Argo CD or values for the argo-cd chart, or use --context, to check the installation, too")}
	}
	return []finding.Finding{{Message: "found neither a Deployment that runs argocd-repo-server nor values for the argo-cd chart"}}
}

func (i *installation) checkSidecar() (all []finding.Finding) {
	for _, w := range i.workloadsOf(repoServer) {
		if len(w.sidecars) > 0 {
			continue
		}
		f := i.withInstallRemedy(w.fault("no sidecar of the repo-server serves the plugin %s", ourPlugin))
		if len(w.others) > 0 {
			var names []string
			for _, c := range w.others {
				names = append(names, c.name())
			}
			f.Message += "; the other containers are " + strings.Join(names, ", ")
		}
		for _, c := range w.initContainers {
			if isNamedLadder(c) {
				f = withRemedy(c.fault("it is an init container, which must end before the repo-server starts"),
					"move it to the containers, extraContainers in values, or give it restartPolicy: Always")
			}
		}
		for _, other := range i.workloads {
			if slices.ContainsFunc(other.others, isNamedLadder) && other.role != repoServer {
				f.Message += "; " + ourPlugin + " is in the Pod of the " + other.role
				f = withRemedy(f, "move it to the repo-server")
			}
		}
		all = append(all, f)
	}
	return all
}

func (i *installation) checkSidecarCommand() (all []finding.Finding) {
	i.forEachSidecar(func(_ *workload, s *sidecar) {
		if !s.serves {
			words := slices.Concat(s.at("command").texts(), s.at("args").texts())
			all = append(all, s.fault("it runs %q, which does not serve a plugin", strings.Join(words, " ")))
			return
		}
		for _, problem := range finding.Of(s.flagsErr) {
			all = append(all, withRemedy(s.fault("cmp serve exits at once: %s", problem.Message),
				"correct it; cmp serve --help and docs/operations.md list the flags and variables"))
		}
	})
	return all
}

func (i *installation) checkSidecarImage() (all []finding.Finding) {
	i.forEachSidecar(func(_ *workload, s *sidecar) {
		at := s.at("image")
		switch {
		case s.image.repository == "":
			all = append(all, s.fault("it has no image"))
		case strings.Contains(at.Text(), "{{"): // a template of the chart
		case CheckImage(at.Text()) != nil:
			all = append(all, withRemedy(at.fault("%v", CheckImage(at.Text())), "write REGISTRY/NAME:TAG or REGISTRY/NAME@DIGEST"))
		case IsPlaceholder(at.Text()):
			all = append(all, withRemedy(withSeverity(finding.Warning, at.fault("the image %s is a placeholder", at.Text())),
				"name the image of a release, which cmp install prints, or the one that you push"))
		case !s.image.digest && slices.Contains(mutableTags, s.image.tag):
			all = append(all, withSeverity(finding.Warning, at.fault("%s has a mutable tag", at.Text())))
		case !s.image.digest:
			all = append(all, withRemedy(withSeverity(finding.Note,
				at.fault("the image %s has no digest, and a tag can be moved", at.Text())), "append the digest: %s@sha256:…", at.Text()))
		}
	})
	return all
}

// mutableTags are tags that every build moves, by convention. An image without a tag has
// the tag latest.
var mutableTags = []string{"", "latest", "main", "master", "dev", "edge", "nightly", "stable"}

// CheckImage says why no container runtime can pull an image with this name.
func CheckImage(image string) error {
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return fmt.Errorf("%q is not an image: %w", image, err)
	}
	return nil
}

// IsPlaceholder reports whether an image is in a domain that is reserved for examples,
// such as that of deploy/argocd-values.yaml.
func IsPlaceholder(image string) bool {
	host, _, _ := strings.Cut(image, "/")
	host, _, _ = strings.Cut(host, ":")
	for _, domain := range []string{"example", "example.com", "example.net", "example.org"} {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

// socketDir returns the directory of plugin sockets in a container.
func socketDir(flags Flags, stock bool, env map[string]node) string {
	if flags.PluginDir != "" && !stock {
		return path.Clean(flags.PluginDir)
	}
	if v := env["ARGOCD_PLUGINSOCKFILEPATH"].Text(); v != "" {
		return path.Clean(v)
	}
	return pluginsDir
}

func (i *installation) checkPluginsVolume() (all []finding.Finding) {
	i.forEachSidecar(func(w *workload, s *sidecar) {
		if !s.serves {
			return
		}
		dir := socketDir(s.flags, s.stock, s.env)
		mount, ok := mountAt(s.node, dir)
		if !ok {
			f := s.fault("it creates its socket in %s, where no volume is mounted", dir)
			for _, m := range s.at("volumeMounts").items() {
				if m.name() == "plugins" {
					f.Message += ": plugins is mounted at " + m.Get("mountPath").Text()
				}
			}
			all = append(all, f)
			return
		}
		if mount.Get("readOnly").True() {
			all = append(all, mount.at("readOnly").fault("the directory of its socket is mounted read-only"))
		}
		shared := "plugins" // the volume that the chart mounts
		socketPath := strings.TrimPrefix(dir, path.Clean(mount.Get("mountPath").Text()))
		repoServerPath := ""
		if w.isComplete {
			repoServerDir := socketDir(Flags{}, true, i.environment(w, w.program))
			m, ok := mountAt(w.program, repoServerDir)
			if !ok {
				all = append(all, w.program.fault("the repo-server looks for plugins in %s, where no volume is mounted", repoServerDir))
				return
			}
			shared, repoServerPath = m.name(), m.Get("subPath").Text()+strings.TrimPrefix(repoServerDir, path.Clean(m.Get("mountPath").Text()))
		}
		switch v := w.volumes[mount.name()]; {
		case mount.name() != shared:
			all = append(all, mount.fault("its socket is in the volume %s, but the repo-server looks in %s", mount.name(), shared))
		case mount.Get("subPath").Text()+socketPath != repoServerPath:
			all = append(all, mount.fault("its socket is not in the directory of the volume %s in which the repo-server looks", shared))
		case v.configMap != "" || v.secret != "":
			all = append(all, v.fault("the volume %s is read-only", shared))
		case v.Exists() && v.Get("persistentVolumeClaim").Exists():
			all = append(all, withRemedy(withSeverity(finding.Warning,
				v.fault("the volume %s outlives the Pod, and the Pods that share it share their sockets", shared)), "use an emptyDir"))
		}
	})
	return all
}

// identity is the user and group of a container.
type identity struct {
	user, group string
	// at is where the user is set, or the container.
	at node
	// implied means that the group is not set explicitly.
	implied bool
}

// identityOf returns the user and group of a container from its own context and that of the
// Pod. Without runAsUser, the user of the image applies, which is 999 in the images of
// Argo CD and of the plugin. The
// kubelet passes the user of an image without its group; without runAsGroup the
// group is that of the user in the image's /etc/passwd, or else 0. Sources:
// Kubernetes, pkg/kubelet/kuberuntime/security_context.go, and containerd,
// pkg/oci/spec_opts.go (WithUser).
func identityOf(container, context, pod node, passwd map[string]string) identity {
	a := identity{user: argoUser, at: container}
	for _, t := range []node{pod, context} {
		if v := t.at("runAsUser"); v.Exists() {
			a.user, a.at = v.Text(), v
		}
		if v := t.at("runAsGroup"); v.Exists() {
			a.group = v.Text()
		}
	}
	if a.group == "" {
		a.group, a.implied = passwd[a.user], true
	}
	if a.group == "" {
		a.group = "0"
	}
	return a
}

// argoPasswd are the users of Argo CD's image with their groups. The plugin's image
// has no /etc/passwd.
var argoPasswd = map[string]string{argoUser: argoUser, "0": "0"}

func (i *installation) checkUser() (all []finding.Finding) {
	i.forEachSidecar(func(w *workload, s *sidecar) {
		sidecarIdentity, repoServerIdentity := identityOf(s.node, s.at("securityContext"), w.security, nil),
			identityOf(w.program, w.containerSecurity, w.security, argoPasswd)
		if sidecarIdentity.user == repoServerIdentity.user {
			return
		}
		shared := sidecarIdentity.group == repoServerIdentity.group || w.security.at("fsGroup").Exists() ||
			slices.Contains(w.security.at("supplementalGroups").texts(), sidecarIdentity.group)
		if !s.stock && shared {
			return // the group may connect, too
		}
		f := sidecarIdentity.at.fault("it runs as user %s, so the repo-server (user %s) cannot connect to its socket",
			sidecarIdentity.user, repoServerIdentity.user)
		if !s.stock && sidecarIdentity.implied {
			f.Message += "; the group of the sidecar is " + sidecarIdentity.group + ", because runAsGroup is not set"
		}
		all = append(all, withRemedy(f, "set runAsUser and runAsGroup to %s, as in the repo-server", repoServerIdentity.user))
	})
	return all
}

func (i *installation) checkPrivileges() (all []finding.Finding) {
	i.forEachSidecar(func(w *workload, s *sidecar) {
		c := s.at("securityContext")
		at := c
		if !c.Exists() {
			at = s.node
		}
		var problems []string
		if !c.Get("readOnlyRootFilesystem").True() {
			problems = append(problems, "readOnlyRootFilesystem is not true")
		}
		if c.Get("privileged").True() {
			problems = append(problems, "it is privileged")
		}
		if e := c.Get("allowPrivilegeEscalation"); !e.Exists() || e.True() {
			problems = append(problems, "allowPrivilegeEscalation is not false")
		}
		if !slices.Contains(c.at("capabilities", "drop").texts(), "ALL") || len(c.Get("capabilities", "add").Items()) > 0 {
			problems = append(problems, "it has capabilities")
		}
		if !c.Get("runAsNonRoot").True() && !w.security.Get("runAsNonRoot").True() {
			problems = append(problems, "runAsNonRoot is not true")
		}
		if len(problems) > 0 {
			all = append(all, at.fault("%s", strings.Join(problems, ", ")))
		}
	})
	return all
}

// checkStockVolumes checks the volumes that Argo CD's own plugin server needs.
func (i *installation) checkStockVolumes() (all []finding.Finding) {
	i.forEachSidecar(func(w *workload, s *sidecar) {
		if !s.stock {
			return
		}
		if _, ok := mountAt(s.node, serverDir); !ok {
			all = append(all, withRemedy(s.fault("nothing is mounted at %s, where it looks for %s", serverDir, stockServer),
				"mount the volume var-files at %s", serverDir))
		}
		dir := cmp.Or(s.env["ARGOCD_CMP_WORKDIR"].Text(), "/tmp")
		mount, ok := mountAt(s.node, dir)
		if !ok {
			f := s.fault("nothing is mounted at %s", dir)
			if !s.Get("securityContext", "readOnlyRootFilesystem").True() {
				f.Severity = finding.Warning
				f.Message += ", and the image has no such directory"
			}
			all = append(all, f)
			return
		}
		repoServerVolume := "tmp"
		if w.isComplete {
			m, _ := mountAt(w.program, "/tmp")
			repoServerVolume = m.name()
		}
		if mount.name() == repoServerVolume {
			all = append(all, withSeverity(finding.Warning, mount.fault("its %s is the volume %s of the repo-server", dir, repoServerVolume)))
		}
	})
	return all
}

func (i *installation) checkPluginYAML() (all []finding.Finding) {
	i.forEachSidecar(func(_ *workload, s *sidecar) {
		if !s.stock {
			return
		}
		at := s.config.mount
		switch d := s.pluginYAML; {
		case !s.mounted:
			all = append(all, s.fault("no plugin.yaml is mounted at %s", pluginConfig))
		case s.config.problem != "":
			all = append(all, at.fault("plugin.yaml: %s", s.config.problem))
		case !s.config.found: // in a ConfigMap outside the input
		case d.Kind != "ConfigManagementPlugin" || d.Metadata.Name == "":
			all = append(all, s.config.source.fault("not a ConfigManagementPlugin with a name"))
		case !runsLadder(d) || !slices.Contains(append(d.Spec.Generate.Command, d.Spec.Generate.Args...), "generate"):
			all = append(all, s.config.source.fault("its generate.command is %q, but that of this plugin is [%s, generate]",
				d.Spec.Generate.Command, program))
		}
	})
	return all
}

func (i *installation) checkTwoPlugins() (all []finding.Finding) {
	for _, w := range i.workloadsOf(repoServer) {
		first := map[string]string{}
		var discovering []string
		var ladder *sidecar
		for _, s := range w.plugins {
			if other, twice := first[s.plugin]; twice {
				all = append(all, withRemedy(s.fault("it serves the plugin %s, as the container %s does", s.plugin, other),
					"remove one, or give it a spec.version"))
			} else if s.plugin != "" {
				first[s.plugin] = s.name()
			}
			if s.hasDiscovery {
				discovering = append(discovering, s.name())
			}
			if s.hasDiscovery && s.isLadder {
				ladder = s
			}
		}
		if ladder != nil && len(discovering) > 1 {
			slices.Sort(discovering)
			all = append(all, withRemedy(withSeverity(finding.Warning,
				ladder.fault("%s match Applications that do not name a plugin", strings.Join(discovering, " and "))),
				"name the plugin in Applications, and remove --discovery, or discover: in plugin.yaml"))
		}
	}
	return all
}

func (i *installation) checkLadderYAML() (all []finding.Finding) {
	i.forEachSidecar(func(w *workload, s *sidecar) {
		file := s.flags.Ladder
		if s.stock {
			file = s.env["LADDER_CONFIG"].Text()
		}
		if file == "" {
			return
		}
		m, mounted := i.textAt(w, s.node, path.Clean(file))
		switch {
		case !mounted:
			all = append(all, s.fault("it reads %s, but nothing is mounted there", file))
		case m.problem != "":
			all = append(all, m.mount.fault("%s: %s", file, m.problem))
		case m.subPath && !s.stock:
			all = append(all, withSeverity(finding.Warning, m.mount.fault("%s is mounted with subPath, so the kubelet never updates it", file)))
		}
		if !m.found {
			return
		}
		if i.ReadLadder == nil {
			return
		}
		var messages []string
		for _, f := range finding.Of(i.ReadLadder(m.text)) {
			messages = append(messages, fmt.Sprintf("line %d: %s", f.Line, errors.New(f.Message)))
		}
		if len(messages) > 0 {
			all = append(all, withRemedy(m.source.fault("%s", strings.Join(messages, ", ")), "correct it; run cmp render --ladder FILE for details"))
		}
	})
	return all
}
