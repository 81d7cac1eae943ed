package live

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

// unreachable are words of programs and libraries that do not reach another program.
var unreachable = regexp.MustCompile(`(?i)no such host|connection refused|name or service not known|name resolution|resolve|getaddrinfo|ENOTFOUND|translate host name|bad address|unknown ?host|no route to host|timed? ?out`)

var hostName = regexp.MustCompile(`[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*`)

// service returns the Service of another program that a text names and that does not answer: the
// sync applies it only later, or it is there and none of its Pods is ready.
func (s *scene) service(text string, pod object.Object) object.ID {
	for _, host := range hostName.FindAllString(text, -1) {
		labels := strings.Split(host, ".")
		id := object.ID{Kind: "Service", Namespace: pod.ID.Namespace, Name: labels[0]}
		if len(labels) > 1 {
			id.Namespace = labels[1]
		}
		if o, exists := s.objects[id]; exists {
			if !selects(o, pod) && len(s.withoutPods(o)) > 0 {
				return id
			}
			continue
		}
		if slices.ContainsFunc(s.applications(), func(app object.Object) bool { _, is := s.later(app, id); return is }) {
			return id
		}
	}
	return object.ID{}
}

// selects reports whether a Service has the Pod behind it.
func selects(service, pod object.Object) bool {
	selector := service.Get("spec", "selector").Fields()
	return len(selector) > 0 && !slices.ContainsFunc(selector, func(f object.Field) bool { return pod.Label(f.Key) != f.Value.Text() })
}

// commandOf returns what a container runs, with the values that it gets.
func commandOf(c container) string {
	var words []string
	for _, f := range []string{"command", "args"} {
		for _, v := range c.spec.Get(f).Items() {
			words = append(words, v.Text())
		}
	}
	for _, v := range c.spec.Get("env").Items() {
		words = append(words, v.Get("value").Text())
	}
	return strings.Join(words, " ")
}
