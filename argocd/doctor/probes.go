package doctor

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// operationsPort returns the port of metrics and probes, and the bound host.
func (s *sidecar) operationsPort() (port int, host string, ok bool) {
	host, text, found := strings.Cut(s.flags.Operations, ":")
	if n := strings.LastIndex(s.flags.Operations, ":"); found && n >= 0 {
		host, text = s.flags.Operations[:n], s.flags.Operations[n+1:]
	}
	port, err := strconv.Atoi(text)
	return port, host, err == nil && port > 0
}

// endpoints are the endpoints on that port.
var endpoints = []string{"/healthz", "/readyz", "/metrics"}

func (i *installation) checkProbes() (all []finding.Finding) {
	i.forEachSidecar(func(_ *workload, s *sidecar) {
		if !s.serves || s.flagsErr != nil {
			return
		}
		missing := []string{}
		for _, kind := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
			probe := s.at(kind)
			if !probe.Exists() {
				if kind != "startupProbe" {
					missing = append(missing, kind)
				}
				continue
			}
			if why := s.probeProblem(probe); why != "" {
				all = append(all, probe.fault("%s", why))
			}
		}
		if len(missing) > 0 && !s.stock {
			all = append(all, withSeverity(finding.Warning, s.fault("it has no %s", strings.Join(missing, " and no "))))
		}
	})
	return all
}

// probeProblem returns why a probe fails; empty if it succeeds.
func (s *sidecar) probeProblem(probe node) string {
	if command := probe.at("exec", "command").texts(); len(command) > 0 {
		if path.Base(command[0]) != program && !s.stock {
			return fmt.Sprintf("it runs %s, but the image contains only %s", command[0], program)
		}
		return ""
	}
	serverPort, _, serves := s.operationsPort()
	for _, handler := range []string{"httpGet", "tcpSocket", "grpc"} {
		at := probe.at(handler)
		if !at.Exists() {
			continue
		}
		text := at.Get("port").Text()
		port, err := strconv.Atoi(text)
		if err != nil {
			item, ok := findByName(s.at("ports").items(), text)
			if !ok {
				return fmt.Sprintf("it uses the port %q, which is not a named port of the container", text)
			}
			port, _ = item.at("containerPort").number()
		}
		switch {
		case s.stock:
			return fmt.Sprintf("it uses port %d, but %s listens only on its socket", port, stockServer)
		case !serves:
			return fmt.Sprintf("it uses port %d, but --operations-address is not set", port)
		case port != serverPort:
			return fmt.Sprintf("it uses port %d, but the server listens on %d", port, serverPort)
		case handler == "httpGet" && !slices.Contains(endpoints, strings.SplitN(at.Get("path").Text(), "?", 2)[0]):
			return fmt.Sprintf("it requests %s, but the server has only %s", at.Get("path").Text(), strings.Join(endpoints, ", "))
		}
	}
	return ""
}

// argoPorts are the default ports of the repo-server.
var argoPorts = []int{8081, 8084}

func (i *installation) checkPort() (all []finding.Finding) {
	i.forEachSidecar(func(w *workload, s *sidecar) {
		if s.stock || !s.serves || s.flagsErr != nil {
			return
		}
		port, host, ok := s.operationsPort()
		if !ok {
			all = append(all, withSeverity(finding.Note, s.fault("--operations-address is not set, so the server exposes no metrics")))
			return
		}
		users := map[int]string{}
		for _, p := range argoPorts {
			users[p] = "the repo-server"
		}
		for _, c := range append(slices.Clone(w.others), w.program) {
			for _, p := range c.at("ports").items() {
				if n, ok := p.at("containerPort").number(); ok && c.name() != s.name() {
					users[n] = c.name()
				}
			}
		}
		if user, ok := users[port]; ok {
			all = append(all, s.fault("it listens on port %d, which is that of %s", port, user))
		}
		if host == "localhost" || strings.HasPrefix(host, "127.") || host == "[::1]" {
			all = append(all, s.fault("it listens on %s, which neither the kubelet nor Prometheus can reach", host))
		}
	})
	return all
}

// matches reports whether a label selector selects labels.
func matches(selector object.Value, labels map[string]string) bool {
	for _, f := range selector.Get("matchLabels").Fields() {
		if labels[f.Key] != f.Value.Text() {
			return false
		}
	}
	for _, e := range selector.Get("matchExpressions").Items() {
		value, there := labels[e.Get("key").Text()]
		in := slices.ContainsFunc(e.Get("values").Items(), func(v object.Value) bool { return v.Text() == value })
		ok := map[string]bool{"In": there && in, "NotIn": !there || !in, "Exists": there, "DoesNotExist": !there}[e.Get("operator").Text()]
		if !ok {
			return false
		}
	}
	return true
}

func (i *installation) checkNetworkPolicy() (all []finding.Finding) {
	i.forEachSidecar(func(w *workload, s *sidecar) {
		port, _, ok := s.operationsPort()
		if !w.isComplete || !ok {
			return
		}
		var selecting []node
		for _, p := range i.policies {
			types := p.at("spec", "policyTypes").texts()
			if !i.inSameNamespace(p.Get("metadata", "namespace").Text(), w.namespace) ||
				!matches(p.Get("spec", "podSelector"), w.labels) || len(types) > 0 && !slices.Contains(types, "Ingress") {
				continue
			}
			selecting = append(selecting, p)
			for _, rule := range p.at("spec", "ingress").items() {
				if s.allows(rule, port) {
					return
				}
			}
		}
		if len(selecting) == 0 {
			return
		}
		f := selecting[0].fault("it blocks port %d, the metrics of the plugin", port)
		for _, m := range i.monitors {
			if matches(m.Get("spec", "selector"), w.labels) {
				f.Severity = finding.Warning
			}
		}
		all = append(all, f)
	})
	return all
}

// inSameNamespace reports whether two objects are in one namespace, which manifests may
// omit.
func (i *installation) inSameNamespace(x, y string) bool {
	return x == y || !i.Live && (x == "" || y == "")
}

// allows reports whether a rule of a NetworkPolicy allows a client to connect to a
// port.
func (s *sidecar) allows(rule node, port int) bool {
	ports := rule.at("ports").items()
	for _, p := range ports {
		text := p.Get("port").Text()
		n, err := strconv.Atoi(text)
		if item, ok := findByName(s.at("ports").items(), text); err != nil && ok {
			n, _ = item.at("containerPort").number()
		}
		end, isRange := p.at("endPort").number()
		if text == "" || n == port || isRange && n <= port && port <= end {
			return true
		}
	}
	return len(ports) == 0
}

func (i *installation) checkGracePeriod() (all []finding.Finding) {
	i.forEachSidecar(func(w *workload, s *sidecar) {
		if s.stock || !s.serves || s.flagsErr != nil {
			return
		}
		grace, ok := w.gracePeriod.number()
		at := w.gracePeriod
		if !ok {
			grace, at = 30, s.node
		}
		if s.flags.ShutdownTimeout > float64(grace) {
			all = append(all, at.fault("the Pod has %ds to terminate, but the plugin may need %s", grace, seconds(s.flags.ShutdownTimeout)))
		}
	})
	return all
}

func (i *installation) checkSidecarVersions() (all []finding.Finding) {
	first, where := "", ""
	i.forEachSidecar(func(w *workload, s *sidecar) {
		image := s.Get("image").Text()
		if first != "" && image != first {
			all = append(all, s.at("image").fault("it runs %s, but the sidecar of %s runs %s", image, where, first))
		}
		if first == "" {
			first, where = image, cmp.Or(w.object, w.field)
		}
		for _, pod := range i.podsOf(w) {
			c, ok := findByName(pod.at("spec", "containers").items(), s.name())
			if !ok {
				c, ok = findByName(pod.at("spec", "initContainers").items(), s.name())
			}
			switch {
			case !ok:
				all = append(all, pod.fault("it has no container %s, although %s has one", s.name(), w.object))
			case c.Get("image").Text() != image:
				all = append(all, c.at("image").fault("it runs %s, but %s specifies %s", c.Get("image").Text(), w.object, image))
			}
		}
	})
	return all
}

// podsOf returns the Pods of a repo-server.
func (i *installation) podsOf(w *workload) []node {
	var all []node
	for _, pod := range i.pods {
		labels := map[string]string{}
		for _, f := range pod.Get("metadata", "labels").Fields() {
			labels[f.Key] = f.Value.Text()
		}
		if w.isComplete && pod.Get("metadata", "namespace").Text() == w.namespace && matches(w.Get("spec", "selector"), labels) &&
			!pod.Get("metadata", "deletionTimestamp").Exists() {
			all = append(all, pod)
		}
	}
	return all
}

// maxRestarts is the number of restarts above which they are reported.
const maxRestarts = 3

func (i *installation) checkSidecarState() (all []finding.Finding) {
	i.forEachSidecar(func(w *workload, s *sidecar) {
		for _, pod := range i.podsOf(w) {
			states := append(pod.at("status", "containerStatuses").items(), pod.at("status", "initContainerStatuses").items()...)
			c, ok := findByName(states, s.name())
			if !ok {
				continue
			}
			last := c.Get("lastState", "terminated")
			restarts, _ := c.at("restartCount").number()
			if reason := c.Get("state", "waiting", "reason").Text(); reason != "" {
				all = append(all, c.fault("it does not run: %s", reason))
			} else if !c.Get("ready").True() {
				all = append(all, c.fault("it is not ready"))
			}
			switch {
			case last.Get("reason").Text() == "OOMKilled":
				all = append(all, withRemedy(withSeverity(finding.Warning,
					c.fault("it was OOM-killed; number of restarts: %d", restarts)),
					"compare its limit with the flags; docs/operations.md explains how to calculate it"))
			case restarts > maxRestarts:
				all = append(all, withSeverity(finding.Warning,
					c.fault("it was restarted %d times, the last time with exit code %s", restarts, cmp.Or(last.Get("exitCode").Text(), "unknown"))))
			}
		}
	})
	return all
}
