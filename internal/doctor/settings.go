package doctor

import (
	"slices"
	"strconv"
	"strings"
)

// option is a setting of an Argo CD program, set by a flag, an environment variable
// or a key of argocd-cmd-params-cm. Sources: cmd/*/commands of Argo CD v3.5.7, and
// its manifests/base.
type option struct {
	role, key, variable, flag string
	// fallback is the default.
	fallback string
	kind     kind
}

type kind string

const (
	number kind = "a whole number, without a unit"
	truth  kind = "true or false"
	globs  kind = "patterns with ; between them"
)

var (
	controllerTimeout = option{controller, "controller.repo.server.timeout.seconds", "ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_TIMEOUT_SECONDS", "repo-server-timeout-seconds", "60", number}
	serverTimeout     = option{apiServer, "server.repo.server.timeout.seconds", "ARGOCD_SERVER_REPO_SERVER_TIMEOUT_SECONDS", "repo-server-timeout-seconds", "60", number}
	exclusions        = option{repoServer, "reposerver.plugin.tar.exclusions", "ARGOCD_REPO_SERVER_PLUGIN_TAR_EXCLUSIONS", "plugin-tar-exclude", "", globs}
	generatePaths     = option{repoServer, "reposerver.plugin.use.manifest.generate.paths", "ARGOCD_REPO_SERVER_PLUGIN_USE_MANIFEST_GENERATE_PATHS", "plugin-use-manifest-generate-paths", "false", truth}
	grpcSize          = option{repoServer, "reposerver.grpc.max.size", "ARGOCD_GRPC_MAX_SIZE_MB", "", "100", number}
	controllerGRPC    = option{controller, "", "ARGOCD_GRPC_MAX_SIZE_MB", "", "100", number}
	progressive       = option{setsController, "applicationsetcontroller.enable.progressive.syncs", "ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_PROGRESSIVE_SYNCS", "enable-progressive-syncs", "false", truth}
	parallelism       = option{repoServer, "reposerver.parallelism.limit", "ARGOCD_REPO_SERVER_PARALLELISM_LIMIT", "parallelismlimit", "0", number}

	options = []option{controllerTimeout, serverTimeout, exclusions, generatePaths, grpcSize, controllerGRPC, progressive, parallelism}
)

// setting is the value of an option.
type setting struct {
	thing
	text string
	// set means that it is set explicitly. known is false if the input does not
	// show it.
	set, known bool
}

// setting returns the value of an option: from a flag, a variable, or the key that
// sets the variable.
func (i *installation) setting(o option) setting {
	for _, w := range i.of(o.role) {
		if s, ok := o.given(w); ok {
			return s
		}
		for _, e := range w.env {
			if e.name() != o.variable {
				continue
			}
			if v, ok := i.variable(w, e); ok && v.Exists() {
				return setting{thing: v, text: v.Text(), set: true, known: true}
			}
			if !e.at("valueFrom").Exists() { // an empty string
				return setting{thing: e, text: o.fallback, known: true}
			}
		}
		if _, wired := named(w.env, o.variable); w.whole && !wired {
			return setting{thing: w.program, text: o.fallback, known: true} // nothing reads the key
		}
	}
	if o.key == "" {
		return setting{text: o.fallback}
	}
	v, known := i.entry(paramsMap, o.key)
	if v.Exists() {
		return setting{thing: v, text: v.Text(), set: true, known: true}
	}
	if v.file == "" && v.object == "" && len(i.workloads) > 0 {
		v = i.workloads[0].thing
	}
	return setting{thing: v, text: o.fallback, known: known}
}

// given returns the value of the flag.
func (o option) given(w *workload) (setting, bool) {
	if o.flag == "" {
		return setting{}, false
	}
	var found setting
	var all []string
	for n, arg := range w.args {
		name, value, cut := strings.Cut(strings.TrimLeft(arg.Text(), "-"), "=")
		if !strings.HasPrefix(arg.Text(), "-") || name != o.flag {
			continue
		}
		switch {
		case cut:
		case o.kind == truth:
			value = "true"
		case n+1 < len(w.args):
			value = w.args[n+1].Text()
		}
		all = append(all, value)
		found = setting{thing: arg, text: strings.Join(all, ";"), set: true, known: true}
	}
	return found, found.set
}

// list splits the value into items.
func (s setting) list() []string {
	if s.text == "" {
		return nil
	}
	var all []string
	for _, one := range strings.Split(s.text, ";") {
		all = append(all, strings.TrimSpace(one))
	}
	return all
}

// on reports whether the value is true for Argo CD.
func (s setting) on() bool { return strings.EqualFold(s.text, "true") }

// effective returns the effective number: Argo CD ignores an invalid one.
func (s setting) effective(o option) int {
	if n, err := strconv.Atoi(s.text); err == nil && n >= 0 {
		return n
	}
	n, _ := strconv.Atoi(o.fallback)
	return n
}

// readKeys returns the keys of argocd-cmd-params-cm that the workloads with a role
// read; none if the input contains no complete workload.
func (i *installation) readKeys(role string) []string {
	var all []string
	for _, w := range i.of(role) {
		if !w.whole {
			continue
		}
		for _, e := range w.env {
			if ref := e.at("valueFrom", "configMapKeyRef"); ref.name() == paramsMap {
				all = append(all, ref.Get("key").Text())
			}
		}
		for _, v := range w.volumes {
			for _, item := range v.at("configMap", "items").items() {
				all = append(all, item.Get("key").Text())
			}
		}
	}
	slices.Sort(all)
	return all
}
