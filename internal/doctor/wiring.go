package doctor

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

func (i *installation) noRepoServer() []finding.Finding {
	if len(i.of(repoServer)) > 0 {
		return nil
	}
	if len(i.applications) > 0 && len(i.workloads) == 0 && len(i.Values) == 0 && !i.Live {
		f := finding.Finding{Message: "checked only the Applications, because there is neither a Deployment that runs argocd-repo-server nor values of its chart"}
		return []finding.Finding{instead(as(finding.Note, f), "add the manifests of Argo CD or the values of its chart, or use --context, to check the installation, too")}
	}
	return []finding.Finding{{Message: "found neither a Deployment that runs argocd-repo-server nor values of its chart"}}
}

func (i *installation) noSidecar() (all []finding.Finding) {
	for _, w := range i.of(repoServer) {
		if len(w.sidecars) > 0 {
			continue
		}
		f := i.byInstall(w.fault("no container beside the repo-server serves the plugin %s", ourPlugin))
		if len(w.others) > 0 {
			var names []string
			for _, c := range w.others {
				names = append(names, c.name())
			}
			f.Message += "; there is " + strings.Join(names, ", ")
		}
		for _, c := range w.inits {
			if calledOurs(c) {
				f = instead(c.fault("it is an init container, which must end before the repo-server starts"), "move it to the containers, extraContainers in values, or give it restartPolicy: Always")
			}
		}
		for _, other := range i.workloads {
			if slices.ContainsFunc(other.others, calledOurs) && other.role != repoServer {
				f.Message += "; " + ourPlugin + " is in the Pod of the " + other.role
				f = instead(f, "move it to the repo-server")
			}
		}
		all = append(all, f)
	}
	return all
}

func (i *installation) sidecarCommand() (all []finding.Finding) {
	i.sidecars(func(_ *workload, s *sidecar) {
		if !s.serves {
			words := slices.Concat(s.at("command").texts(), s.at("args").texts())
			all = append(all, s.fault("it runs %q, which serves no plugin", strings.Join(words, " ")))
			return
		}
		for _, wrong := range finding.Of(s.wrong) {
			all = append(all, instead(s.fault("cmp serve exits at once: %s", wrong.Message), "correct it; cmp serve --help and docs/operations.md list the flags and variables"))
		}
	})
	return all
}

func (i *installation) sidecarImage() (all []finding.Finding) {
	i.sidecars(func(_ *workload, s *sidecar) {
		at := s.at("image")
		switch {
		case s.image.repository == "":
			all = append(all, s.fault("it has no image"))
		case HasSpace(at.Text()) && !strings.Contains(at.Text(), "{{"):
			all = append(all, instead(at.fault("%q is not an image: it contains a space", at.Text()), "remove the space"))
		case strings.Contains(at.Text(), "{{"): // a template of the chart
		case IsPlaceholder(at.Text()):
			all = append(all, instead(as(finding.Warning, at.fault("the image %s is a placeholder", at.Text())), "name the image of a release, which cmp install prints, or the one that you push"))
		case !s.image.digest && slices.Contains(movingTags, s.image.tag):
			all = append(all, as(finding.Warning, at.fault("the tag of %s moves", at.Text())))
		case !s.image.digest:
			all = append(all, instead(as(finding.Note, at.fault("the image %s has no digest, and a tag can be moved", at.Text())), "append the digest: %s@sha256:…", at.Text()))
		}
	})
	return all
}

// movingTags are tags that every build moves, by convention. No tag is latest.
var movingTags = []string{"", "latest", "main", "master", "dev", "edge", "nightly", "stable"}

// HasSpace reports whether the name of an image contains white space, which none may.
func HasSpace(image string) bool { return strings.ContainsFunc(image, unicode.IsSpace) }

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
func socketDir(flags Flags, stock bool, env map[string]thing) string {
	if flags.PluginDir != "" && !stock {
		return path.Clean(flags.PluginDir)
	}
	if v := env["ARGOCD_PLUGINSOCKFILEPATH"].Text(); v != "" {
		return path.Clean(v)
	}
	return pluginsDir
}

func (i *installation) pluginsVolume() (all []finding.Finding) {
	i.sidecars(func(w *workload, s *sidecar) {
		if !s.serves {
			return
		}
		dir := socketDir(s.flags, s.stock, s.env)
		mount, ok := mountAt(s.thing, dir)
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
			all = append(all, mount.at("readOnly").fault("the directory of its socket is mounted for reading only"))
		}
		shared := "plugins" // the volume that the chart mounts
		inside := strings.TrimPrefix(dir, path.Clean(mount.Get("mountPath").Text()))
		theirs := ""
		if w.whole {
			there := socketDir(Flags{}, true, i.environment(w, w.program))
			m, ok := mountAt(w.program, there)
			if !ok {
				all = append(all, w.program.fault("the repo-server looks for plugins in %s, where no volume is mounted", there))
				return
			}
			shared, theirs = m.name(), m.Get("subPath").Text()+strings.TrimPrefix(there, path.Clean(m.Get("mountPath").Text()))
		}
		switch v := w.volumes[mount.name()]; {
		case mount.name() != shared:
			all = append(all, mount.fault("its socket is in the volume %s, but the repo-server looks in %s", mount.name(), shared))
		case mount.Get("subPath").Text()+inside != theirs:
			all = append(all, mount.fault("its socket is not in the directory of the volume %s in which the repo-server looks", shared))
		case v.configMap != "" || v.secret != "":
			all = append(all, v.fault("the volume %s cannot be written", shared))
		case v.Exists() && v.Get("persistentVolumeClaim").Exists():
			all = append(all, instead(as(finding.Warning, v.fault("the volume %s outlives the Pod, and the Pods that share it share their sockets", shared)), "use an emptyDir"))
		}
	})
	return all
}

func (i *installation) noVolume() (all []finding.Finding) {
	i.sidecars(func(w *workload, s *sidecar) {
		for _, m := range s.at("volumeMounts").items() {
			if _, ok := w.volumes[m.name()]; !ok && (w.whole || !slices.Contains(chartMounts, m.name())) {
				all = append(all, m.fault("the Pod has no volume %s", m.name()))
			}
		}
	})
	return all
}

// chartMounts are further read-only volumes of the chart.
var chartMounts = []string{"ssh-known-hosts", "tls-certs", "gpg-keys", "argocd-repo-server-tls"}

// account is the user and group of a container.
type account struct {
	user, group string
	// at is the place of the user, or the container.
	at thing
	// implied means that the group is not set explicitly.
	implied bool
}

// accountOf returns the account of a container from its own context and that of the
// Pod. Without a user it is the image's, 999 for Argo CD's and the plugin's. The
// kubelet passes the user of an image without its group; without runAsGroup the
// group is that of the user in the image's /etc/passwd, or else 0. Sources:
// Kubernetes, pkg/kubelet/kuberuntime/security_context.go, and containerd,
// pkg/oci/spec_opts.go (WithUser).
func accountOf(container, context, pod thing, passwd map[string]string) account {
	a := account{user: argoUser, at: container}
	for _, t := range []thing{pod, context} {
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

func (i *installation) user() (all []finding.Finding) {
	i.sidecars(func(w *workload, s *sidecar) {
		its, theirs := accountOf(s.thing, s.at("securityContext"), w.security, nil), accountOf(w.program, w.rights, w.security, argoPasswd)
		if its.user == theirs.user {
			return
		}
		shared := its.group == theirs.group || w.security.at("fsGroup").Exists() || slices.Contains(w.security.at("supplementalGroups").texts(), its.group)
		if !s.stock && shared {
			return // the group may connect, too
		}
		f := its.at.fault("it runs as user %s, so the repo-server (user %s) cannot connect to its socket", its.user, theirs.user)
		if !s.stock && its.implied {
			f.Message += "; the group of the sidecar is " + its.group + ", because runAsGroup is not set"
		}
		all = append(all, instead(f, "set runAsUser and runAsGroup to %s, as in the repo-server", theirs.user))
	})
	return all
}

func (i *installation) rights() (all []finding.Finding) {
	i.sidecars(func(w *workload, s *sidecar) {
		c := s.at("securityContext")
		at := c
		if !c.Exists() {
			at = s.thing
		}
		var more []string
		if !c.Get("readOnlyRootFilesystem").True() {
			more = append(more, "readOnlyRootFilesystem is not true")
		}
		if c.Get("privileged").True() {
			more = append(more, "it is privileged")
		}
		if e := c.Get("allowPrivilegeEscalation"); !e.Exists() || e.True() {
			more = append(more, "allowPrivilegeEscalation is not false")
		}
		if !slices.Contains(c.at("capabilities", "drop").texts(), "ALL") || len(c.Get("capabilities", "add").Items()) > 0 {
			more = append(more, "it has capabilities")
		}
		if !c.Get("runAsNonRoot").True() && !w.security.Get("runAsNonRoot").True() {
			more = append(more, "runAsNonRoot is not true")
		}
		if len(more) > 0 {
			all = append(all, at.fault("%s", strings.Join(more, ", ")))
		}
	})
	return all
}

func (i *installation) tmp() (all []finding.Finding) {
	i.sidecars(func(w *workload, s *sidecar) {
		if !s.stock {
			return
		}
		dir := "/tmp"
		if v := s.env["ARGOCD_CMP_WORKDIR"].Text(); v != "" {
			dir = v
		}
		mount, ok := mountAt(s.thing, dir)
		if !ok {
			f := s.fault("nothing is mounted at %s", dir)
			if !s.Get("securityContext", "readOnlyRootFilesystem").True() {
				f.Severity = finding.Warning
				f.Message += ", and the image has no such directory"
			}
			all = append(all, f)
			return
		}
		theirs := "tmp"
		if w.whole {
			m, _ := mountAt(w.program, "/tmp")
			theirs = m.name()
		}
		if mount.name() == theirs {
			all = append(all, as(finding.Warning, mount.fault("its %s is the volume %s of the repo-server", dir, theirs)))
		}
	})
	return all
}

func (i *installation) varFiles() (all []finding.Finding) {
	i.sidecars(func(_ *workload, s *sidecar) {
		if _, ok := mountAt(s.thing, serverDir); s.stock && !ok {
			all = append(all, s.fault("nothing is mounted at %s, where it looks for %s", serverDir, stockServer))
		}
	})
	return all
}

func (i *installation) pluginYAML() (all []finding.Finding) {
	i.sidecars(func(_ *workload, s *sidecar) {
		if !s.stock {
			return
		}
		at := s.config.mount
		switch d := s.definition; {
		case !s.mounted:
			all = append(all, s.fault("no plugin.yaml is mounted at %s", pluginConfig))
		case s.config.why != "":
			all = append(all, at.fault("plugin.yaml: %s", s.config.why))
		case !s.config.found: // in a ConfigMap outside the input
		case d.Kind != "ConfigManagementPlugin" || d.Metadata.Name == "":
			all = append(all, s.config.source.fault("not a ConfigManagementPlugin with a name"))
		case !runsOurs(d) || !slices.Contains(append(d.Spec.Generate.Command, d.Spec.Generate.Args...), "generate"):
			all = append(all, s.config.source.fault("its generate.command is %q, but that of this plugin is [%s, generate]", d.Spec.Generate.Command, program))
		}
	})
	return all
}

func (i *installation) samePlugin() (all []finding.Finding) {
	for _, w := range i.of(repoServer) {
		first := map[string]string{}
		for _, s := range w.plugins {
			if s.plugin == "" {
				continue
			}
			if other, twice := first[s.plugin]; twice {
				all = append(all, s.fault("it serves the plugin %s, as the container %s does", s.plugin, other))
			} else {
				first[s.plugin] = s.name()
			}
		}
	}
	return all
}

func (i *installation) twoMatch() (all []finding.Finding) {
	for _, w := range i.of(repoServer) {
		var who []string
		var ours *sidecar
		for _, s := range w.plugins {
			if s.discovers {
				who = append(who, s.name())
			}
			if s.discovers && s.ours {
				ours = s
			}
		}
		if ours != nil && len(who) > 1 {
			slices.Sort(who)
			all = append(all, ours.fault("%s match Applications that name no plugin", strings.Join(who, " and ")))
		}
	}
	return all
}

func (i *installation) missingSource() (all []finding.Finding) {
	if !i.Live {
		return nil
	}
	i.sidecars(func(w *workload, s *sidecar) {
		missing := func(t thing, kind, name string) {
			there := i.Secrets == nil || slices.Contains(i.Secrets, name)
			if kind == "ConfigMap" {
				_, there = i.configMap(w.namespace, name)
			}
			if name != "" && !there {
				all = append(all, t.fault("%s %s not found", kind, name))
			}
		}
		for _, m := range s.at("volumeMounts").items() {
			if v := w.volumes[m.name()]; !v.optional {
				missing(m, "ConfigMap", v.configMap)
				missing(m, "Secret", v.secret)
			}
		}
		for _, e := range s.at("env").items() {
			for key, kind := range map[string]string{"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"} {
				if ref := e.at("valueFrom", key); !ref.Get("optional").True() {
					missing(e, kind, ref.name())
				}
			}
		}
		for _, e := range s.at("envFrom").items() {
			for key, kind := range map[string]string{"configMapRef": "ConfigMap", "secretRef": "Secret"} {
				if ref := e.at(key); !ref.Get("optional").True() {
					missing(e, kind, ref.name())
				}
			}
		}
	})
	return all
}

func (i *installation) ladderYAML() (all []finding.Finding) {
	i.sidecars(func(w *workload, s *sidecar) {
		file := s.flags.Ladder
		if s.stock {
			file = s.env["LADDER_CONFIG"].Text()
		}
		if file == "" {
			return
		}
		m, mounted := i.textAt(w, s.thing, path.Clean(file))
		switch {
		case !mounted:
			all = append(all, s.fault("it reads %s, but nothing is mounted there", file))
		case m.why != "":
			all = append(all, m.mount.fault("%s: %s", file, m.why))
		case m.subPath && !s.stock:
			all = append(all, as(finding.Warning, m.mount.fault("%s is mounted with subPath, so the kubelet never updates it", file)))
		}
		if !m.found {
			return
		}
		_, err := knowledge.Default().With(knowledge.File, m.text)
		var said []string
		for _, f := range finding.Of(err) {
			said = append(said, fmt.Sprintf("line %d: %s", f.Line, errors.New(f.Message)))
		}
		if len(said) > 0 {
			all = append(all, instead(m.source.fault("%s", strings.Join(said, ", ")), "correct it; cmp render --ladder FILE says more"))
		}
	})
	return all
}
