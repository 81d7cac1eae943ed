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
	number      kind = "a whole number, without a unit"
	boolean     kind = "true or false"
	patternList kind = "patterns, separated by ;"
)

var (
	controllerTimeout = option{controller, "controller.repo.server.timeout.seconds",
		"ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_TIMEOUT_SECONDS", "repo-server-timeout-seconds", "60", number}
	serverTimeout = option{apiServer, "server.repo.server.timeout.seconds", "ARGOCD_SERVER_REPO_SERVER_TIMEOUT_SECONDS",
		"repo-server-timeout-seconds", "60", number}
	exclusions = option{repoServer, "reposerver.plugin.tar.exclusions", "ARGOCD_REPO_SERVER_PLUGIN_TAR_EXCLUSIONS",
		"plugin-tar-exclude", "", patternList}
	generatePaths = option{repoServer, "reposerver.plugin.use.manifest.generate.paths",
		"ARGOCD_REPO_SERVER_PLUGIN_USE_MANIFEST_GENERATE_PATHS", "plugin-use-manifest-generate-paths", "false", boolean}
	grpcSize       = option{repoServer, "reposerver.grpc.max.size", "ARGOCD_GRPC_MAX_SIZE_MB", "", "100", number}
	controllerGRPC = option{controller, "", "ARGOCD_GRPC_MAX_SIZE_MB", "", "100", number}
	progressive    = option{setsController, "applicationsetcontroller.enable.progressive.syncs",
		"ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_PROGRESSIVE_SYNCS", "enable-progressive-syncs", "false", boolean}
)

// setting is the value of an option.
type setting struct {
	node
	text string
	// isSet means that it is set explicitly. known is false if the input does not
	// show it.
	isSet, known bool
}

// setting returns the value of an option: from a flag, a variable, or the key that
// sets the variable.
func (i *installation) setting(o option) setting {
	for _, w := range i.workloadsOf(o.role) {
		if s, ok := o.fromFlag(w); ok {
			return s
		}
		for _, e := range w.env {
			if e.name() != o.variable {
				continue
			}
			if v, ok := i.variable(w, e); ok && v.Exists() {
				return setting{node: v, text: v.Text(), isSet: true, known: true}
			}
			if !e.at("valueFrom").Exists() { // an empty string
				return setting{node: e, text: o.fallback, known: true}
			}
		}
		if _, wired := findByName(w.env, o.variable); w.isComplete && !wired {
			return setting{node: w.program, text: o.fallback, known: true} // nothing reads the key
		}
	}
	if o.key == "" {
		return setting{text: o.fallback}
	}
	v, known := i.entry(paramsMap, o.key)
	if v.Exists() {
		return setting{node: v, text: v.Text(), isSet: true, known: true}
	}
	if v.file == "" && v.object == "" && len(i.workloads) > 0 {
		v = i.workloads[0].node
	}
	return setting{node: v, text: o.fallback, known: known}
}

// fromFlag returns the value of the flag.
func (o option) fromFlag(w *workload) (setting, bool) {
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
		case o.kind == boolean:
			value = "true"
		case n+1 < len(w.args):
			value = w.args[n+1].Text()
		}
		all = append(all, value)
		found = setting{node: arg, text: strings.Join(all, ";"), isSet: true, known: true}
	}
	return found, found.isSet
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

// isTrue reports whether the value is true for Argo CD.
func (s setting) isTrue() bool { return strings.EqualFold(s.text, "true") }

// effective returns the effective number: Argo CD ignores an invalid one.
func (s setting) effective(o option) int {
	if n, err := strconv.Atoi(s.text); err == nil && n >= 0 {
		return n
	}
	n, _ := strconv.Atoi(o.fallback)
	return n
}

// keysUsedBy returns the keys of argocd-cmd-params-cm that the workloads with a role
// read; none if the input contains no complete workload.
func (i *installation) keysUsedBy(role string) []string {
	var all []string
	for _, w := range i.workloadsOf(role) {
		if !w.isComplete {
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
