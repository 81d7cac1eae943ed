package live

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
)

// unreachable are words of programs and libraries that do not reach another program.
var unreachable = lazyregexp.New(`(?i)no such host|connection refused|name or service not known|name resolution` +
	`|resolve|getaddrinfo|ENOTFOUND|translate host name|bad address|unknown ?host|no route to host|timed? ?out`)

var hostName = lazyregexp.New(`[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*`)

// named returns what another program runs as that a text names and that does not answer: the sync
// applies it only later, or it is a Service without a ready Pod.
func (s *scene) named(text string, pod object.Object) object.ID {
	for _, host := range hostName.FindAllString(text, -1) {
		labels := strings.Split(host, ".")
		id := object.ID{Kind: "Service", Namespace: pod.ID.Namespace, Name: labels[0]}
		if len(labels) > 1 {
			id.Namespace = labels[1]
		}
		if o, exists := s.objects[id]; exists {
			if !selects(o, pod.Get("metadata", "labels")) && len(s.withoutPods(o)) > 0 {
				return id
			}
		} else if later := s.laterNamed(id); !later.IsZero() {
			return later
		}
	}
	return object.ID{}
}

// laterNamed returns what the sync applies later and that has the name of a Service: the Service,
// a workload, or the resource of an operator, which gives its Services its own name and a suffix.
func (s *scene) laterNamed(service object.ID) (found object.ID) {
	for _, app := range s.applications() {
		for _, r := range s.later(app) {
			switch {
			case r.id.Namespace != service.Namespace:
			case r.id == service:
				return r.id
			case r.id.Name == service.Name && s.runsPods(r.id), s.isCustom(r.id) && strings.HasPrefix(service.Name+"-", r.id.Name+"-"):
				found = r.id
			}
		}
	}
	return found
}

// selects reports whether a Service has Pods with these labels behind it.
func selects(service object.Object, labels object.Value) bool {
	selector := service.Get("spec", "selector").Fields()
	return len(selector) > 0 && !slices.ContainsFunc(selector,
		func(f object.Field) bool { return labels.Get(f.Key).Text() != f.Value.Text() })
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
