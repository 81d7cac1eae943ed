package doctor

import (
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

// paths are the endpoints on that port.
var paths = []string{"/healthz", "/readyz", "/metrics"}

func (i *installation) probes() (all []finding.Finding) {
	i.sidecars(func(_ *workload, s *sidecar) {
		if !s.serves || s.wrong != nil {
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
			if why := s.wrongProbe(probe); why != "" {
				all = append(all, probe.fault("%s", why))
			}
		}
		if len(missing) > 0 && !s.stock {
			all = append(all, as(finding.Warning, s.fault("it has no %s", strings.Join(missing, " and no "))))
		}
	})
	return all
}

// wrongProbe says why a probe fails; empty if it succeeds.
func (s *sidecar) wrongProbe(probe thing) string {
	if command := probe.at("exec", "command").texts(); len(command) > 0 {
		if path.Base(command[0]) != program && !s.stock {
			return fmt.Sprintf("it runs %s, and the image contains only %s", command[0], program)
		}
		return ""
	}
	port, _, serves := s.operationsPort()
	for _, way := range []string{"httpGet", "tcpSocket", "grpc"} {
		at := probe.at(way)
		if !at.Exists() {
			continue
		}
		text := at.Get("port").Text()
		asked, err := strconv.Atoi(text)
		if err != nil {
			named, ok := named(s.at("ports").items(), text)
			if !ok {
				return fmt.Sprintf("it uses the port %q, which is not a named port of the container", text)
			}
			asked, _ = named.at("containerPort").number()
		}
		switch {
		case s.stock:
			return fmt.Sprintf("it uses port %d, but %s listens only on its socket", asked, stockServer)
		case !serves:
			return fmt.Sprintf("it uses port %d, but --operations-address is not set", asked)
		case asked != port:
			return fmt.Sprintf("it uses port %d, but the server listens on %d", asked, port)
		case way == "httpGet" && !slices.Contains(paths, strings.SplitN(at.Get("path").Text(), "?", 2)[0]):
			return fmt.Sprintf("it requests %s, but the server has only %s", at.Get("path").Text(), strings.Join(paths, ", "))
		}
	}
	return ""
}

// argoPorts are the default ports of the repo-server.
var argoPorts = []int{8081, 8084}

func (i *installation) port() (all []finding.Finding) {
	i.sidecars(func(w *workload, s *sidecar) {
		if s.stock || !s.serves || s.wrong != nil {
			return
		}
		port, host, ok := s.operationsPort()
		if !ok {
			all = append(all, as(finding.Note, s.fault("--operations-address is not set, so the server exposes no metrics")))
			return
		}
		taken := map[int]string{}
		for _, p := range argoPorts {
			taken[p] = "the repo-server"
		}
		for _, c := range append(slices.Clone(w.others), w.program) {
			for _, p := range c.at("ports").items() {
				if n, ok := p.at("containerPort").number(); ok && c.name() != s.name() {
					taken[n] = c.name()
				}
			}
		}
		if who, ok := taken[port]; ok {
			all = append(all, s.fault("it listens on port %d, which is that of %s", port, who))
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

func (i *installation) networkPolicy() (all []finding.Finding) {
	i.sidecars(func(w *workload, s *sidecar) {
		port, _, ok := s.operationsPort()
		if !w.whole || !ok {
			return
		}
		var closing []thing
		for _, p := range i.policies {
			types := p.at("spec", "policyTypes").texts()
			if !i.together(p.Get("metadata", "namespace").Text(), w.namespace) || !matches(p.Get("spec", "podSelector"), w.labels) || len(types) > 0 && !slices.Contains(types, "Ingress") {
				continue
			}
			closing = append(closing, p)
			for _, rule := range p.at("spec", "ingress").items() {
				if s.lets(rule, port) {
					return
				}
			}
		}
		if len(closing) == 0 {
			return
		}
		f := as(finding.Note, closing[0].fault("it blocks port %d, the metrics of the plugin", port))
		for _, m := range i.monitors {
			if matches(m.Get("spec", "selector"), w.labels) {
				f.Severity = finding.Warning
			}
		}
		all = append(all, f)
	})
	return all
}

// together reports whether two objects are in one namespace, which manifests may
// omit.
func (i *installation) together(x, y string) bool {
	return x == y || !i.Live && (x == "" || y == "")
}

// lets reports whether a rule of a NetworkPolicy allows a client to connect to a
// port.
func (s *sidecar) lets(rule thing, port int) bool {
	ports := rule.at("ports").items()
	for _, p := range ports {
		text := p.Get("port").Text()
		n, err := strconv.Atoi(text)
		if named, ok := named(s.at("ports").items(), text); err != nil && ok {
			n, _ = named.at("containerPort").number()
		}
		end, ranged := p.at("endPort").number()
		if text == "" || n == port || ranged && n <= port && port <= end {
			return true
		}
	}
	return len(ports) == 0
}

func (i *installation) gracePeriod() (all []finding.Finding) {
	i.sidecars(func(w *workload, s *sidecar) {
		if s.stock || !s.serves || s.wrong != nil {
			return
		}
		grace, ok := w.grace.number()
		at := w.grace
		if !ok {
			grace, at = 30, s.thing
		}
		if s.flags.ShutdownTimeout > float64(grace) {
			all = append(all, at.fault("the Pod has %ds to terminate, but the plugin may need %s", grace, seconds(s.flags.ShutdownTimeout)))
		}
	})
	return all
}

func (i *installation) versionsDiffer() (all []finding.Finding) {
	first, where := "", ""
	i.sidecars(func(w *workload, s *sidecar) {
		image := s.Get("image").Text()
		if first != "" && image != first {
			all = append(all, s.at("image").fault("it runs %s, and that of %s runs %s", image, where, first))
		}
		if first == "" {
			first, where = image, or(w.object, w.field)
		}
		for _, pod := range i.podsOf(w) {
			c, ok := named(pod.at("spec", "containers").items(), s.name())
			if !ok {
				c, ok = named(pod.at("spec", "initContainers").items(), s.name())
			}
			switch {
			case !ok:
				all = append(all, pod.fault("it has no container %s, although %s has one", s.name(), w.object))
			case c.Get("image").Text() != image:
				all = append(all, c.at("image").fault("it runs %s, and %s names %s", c.Get("image").Text(), w.object, image))
			}
		}
	})
	return all
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// podsOf returns the Pods of a repo-server.
func (i *installation) podsOf(w *workload) []thing {
	var all []thing
	for _, pod := range i.pods {
		labels := map[string]string{}
		for _, f := range pod.Get("metadata", "labels").Fields() {
			labels[f.Key] = f.Value.Text()
		}
		if w.whole && pod.Get("metadata", "namespace").Text() == w.namespace && matches(w.Get("spec", "selector"), labels) && !pod.Get("metadata", "deletionTimestamp").Exists() {
			all = append(all, pod)
		}
	}
	return all
}

// minRestarts is the number of restarts from which they are reported.
const minRestarts = 3

func (i *installation) sidecarState() (all []finding.Finding) {
	i.sidecars(func(w *workload, s *sidecar) {
		for _, pod := range i.podsOf(w) {
			states := append(pod.at("status", "containerStatuses").items(), pod.at("status", "initContainerStatuses").items()...)
			c, ok := named(states, s.name())
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
				all = append(all, instead(as(finding.Warning, c.fault("it was OOM-killed, %d restarts", restarts)), "compare its limit with the flags; docs/operations.md has the sum"))
			case restarts > minRestarts:
				all = append(all, as(finding.Warning, c.fault("it was restarted %d times, the last time with exit code %s", restarts, or(last.Get("exitCode").Text(), "unknown"))))
			}
		}
	})
	return all
}
