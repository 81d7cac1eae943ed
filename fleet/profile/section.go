package profile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Section is the fleet section of a ladder.yaml.
type Section struct {
	// Profile is the name of a built-in profile, which the other fields modify.
	Profile string `yaml:"profile"`
	// Name is the name of the ApplicationSet, or of the parent Application.
	Name string `yaml:"name"`
	// Parents is the name of the parents of bands, in which "*" is the name of the band; empty means
	// that of the fleet, "-" and "*".
	Parents string `yaml:"parents"`
	// RepoURL and Revision are the source of the components for Argo CD.
	RepoURL  string `yaml:"repoURL"`
	Revision string `yaml:"revision"`
	// Project is the default AppProject of components.
	Project string `yaml:"project"`
	// ArgoCDNamespace is the namespace of Applications; argocd if empty.
	ArgoCDNamespace string `yaml:"argocdNamespace"`
	// Server is the destination cluster; that of Argo CD if empty.
	Server string `yaml:"server"`
	// Environments are the environments of the fleet; none means one.
	Environments []Environment `yaml:"environments"`
	// Promotion rolls out the environments one after the other, in their order.
	Promotion bool `yaml:"promotion"`
	// SyncOptions are options of every Application.
	SyncOptions []string `yaml:"syncOptions"`
	// ApplicationFields are those of every Application.
	component.ApplicationFields `yaml:",inline"`
	// Allow is what components may choose.
	Allow Allow `yaml:"allow"`

	Digits int     `yaml:"digits"`
	Label  string  `yaml:"label"`
	Key    string  `yaml:"key"`
	Style  string  `yaml:"style"`
	Sets   string  `yaml:"sets"`
	Places []Place `yaml:"places"`
	Bands  []Band  `yaml:"bands"`

	// Accepted are findings about the fleet that its owners accept.
	Accepted []Accepted `yaml:"accepted"`

	// File and Line are the place of the section.
	File string `yaml:"-"`
	Line int    `yaml:"-"`
}

// Allow is what components may choose although the platform decides it: it reaches
// beyond their own Application. Nothing is allowed that is not listed.
type Allow struct {
	// Projects are the AppProjects.
	Projects []string `yaml:"projects"`
	// Servers are the clusters, by their URLs or names.
	Servers []string `yaml:"servers"`
	// Annotations are those of argoproj.io, which Argo CD and its companions obey.
	Annotations []string `yaml:"annotations"`
	// NamespaceMetadata are keys of labels and annotations of namespaces.
	NamespaceMetadata []string `yaml:"namespaceMetadata"`
	// BuildOptions are options of kustomize that let a kustomization read the files of others.
	BuildOptions []string `yaml:"buildOptions"`
}

// Allows reports whether a list has a key; an entry that ends in "*" is for all keys
// that begin so.
func Allows(list []string, key string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		beginning, open := strings.CutSuffix(entry, "*")
		return entry == key || open && strings.HasPrefix(key, beginning)
	})
}

// Accepted is an accepted finding with the reason.
type Accepted struct {
	// Rule is the rule of the finding.
	Rule finding.Rule `yaml:"rule"`
	// Component is the name of its Application, or a pattern such as "apps-*"; empty
	// means any, and findings about no Application.
	Component string `yaml:"component"`
	// Needs is the second Application, if the finding is about two, or a pattern;
	// empty means any.
	Needs string `yaml:"needs"`
	// Why is the reason for accepting it.
	Why string `yaml:"why"`
	// Line is its line in the ladder.yaml.
	Line int `yaml:"-"`
}

// Matches reports whether an entry is about a finding of a rule that concerns an
// Application and, unless that is empty, what it depends on.
func (a Accepted) Matches(rule finding.Rule, component, needs string) bool {
	return a.Rule == rule && Named(a.Component, component) && Named(a.Needs, needs)
}

// Named reports whether a name or pattern of an accepted finding is that of an
// Application. "*" stands for any characters.
func Named(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	fits, err := path.Match(pattern, name)
	return err == nil && fits
}

// Environment is a cluster, or a part of one, that a fleet is deployed to.
type Environment struct {
	Name string `yaml:"name"`
	// Server is its cluster.
	Server string `yaml:"server"`
	// Revision is the revision to deploy; empty means the fleet's.
	Revision string `yaml:"revision"`
	// NamespaceSuffix is appended to the namespaces of components.
	NamespaceSuffix string `yaml:"namespaceSuffix"`
	// Values are values files next to a component.yaml. Components without such a file
	// do not have values for the environment.
	Values []string `yaml:"values"`
}

// ParentOf returns the name of the parent of a band, in a fleet with a name.
func (s Section) ParentOf(fleet, band string) string {
	return strings.ReplaceAll(cmp.Or(s.Parents, fleet+"-*"), "*", band)
}

// Reading returns knowledge that reads the fleet sections of further ladder.yaml files.
func Reading(base *knowledge.Base) *knowledge.Base { return base.ReadingFleets(read) }

// In returns the fleet section that was read; the zero value if there is none.
func In(base *knowledge.Base) Section {
	f, _ := base.Fleet().Content.(Section)
	return f
}

// Platform returns what a rendering needs of the section.
func (s Section) Platform() component.Platform {
	p := component.Platform{RepoURL: s.RepoURL}
	p.Allow.BuildOptions = s.Allow.BuildOptions
	for _, e := range s.Environments {
		p.Environments = append(p.Environments, component.PlatformEnvironment{Name: e.Name, Values: e.Values})
	}
	return p
}

// read reads the fleet section of a ladder.yaml.
func read(file settings.File, n *yaml.Node) (any, []error) {
	faults := file.CheckSection(n, "fleet", Section{}, nil)
	wrong := len(faults) > 0
	fault := func(n *yaml.Node, field, message, remedy string) {
		faults = append(faults, file.Fault(n.Line, field, message, remedy))
	}
	accepted := settings.Items(settings.Value(n, "accepted"))
	for i, n := range accepted {
		var a Accepted
		if len(file.Check(n, a, nil)) == 0 && n.Decode(&a) == nil {
			a.check(func(key, message, remedy string) {
				field, at := fmt.Sprintf("fleet.accepted[%d]", i), n
				if key != "" {
					field, at = field+"."+key, settings.Value(n, key)
				}
				fault(at, field, message, remedy)
			})
		}
	}
	if wrong {
		return nil, faults
	}
	var f Section
	if err := n.Decode(&f); err != nil { // the type is right, but aliases may expand to an excessive size
		fault(n, "fleet", err.Error(), "use fewer aliases")
		return nil, faults
	}
	for i, n := range accepted {
		f.Accepted[i].Line = n.Line
	}
	f.Check(func(key string) bool {
		at := n
		for name := range strings.SplitSeq(key, ".") {
			at = settings.Value(at, name)
		}
		return at != nil
	}, func(key, message, remedy string) { fault(n, "fleet."+key, message, remedy) })
	if f.Parents != "" && (strings.Count(f.Parents, "*") != 1 || !object.IsName(strings.ReplaceAll(f.Parents, "*", "x"))) {
		fault(settings.Value(n, "parents"), "fleet.parents", fmt.Sprintf("%q is not a name with one * for the band", f.Parents),
			`write a name such as "*-dev"`)
	}
	if _, err := Of(f); err != nil {
		found := finding.Of(err)[0]
		fault(n, "fleet", found.Message, found.Remedy)
	}
	f.File, f.Line = file.Name, n.Line
	return f, faults
}

// check checks an accepted finding, which needs a rule and a reason, and may have
// patterns. fault gets the key, or none if a key is missing.
func (a Accepted) check(fault func(key, message, remedy string)) {
	for _, key := range []struct{ name, value, remedy string }{
		{"rule", string(a.Rule), `set "rule" to the rule in the brackets of the finding`},
		{"why", a.Why, `set "why" to the reason for accepting the finding`},
	} {
		if strings.TrimSpace(key.value) == "" {
			fault("", fmt.Sprintf("missing key %q", key.name), key.remedy)
		}
	}
	for _, key := range []struct{ name, pattern string }{{"component", a.Component}, {"needs", a.Needs}} {
		if _, err := path.Match(key.pattern, ""); err != nil {
			fault(key.name, fmt.Sprintf("%q is not a pattern", key.pattern), "write a name, with * for any characters")
		}
	}
}
