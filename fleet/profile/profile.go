// Package profile describes the rollout of a fleet: its bands and their places.
//
// A step is only a number. A profile defines the meaning of numbers: the band of
// each domain, the purpose of components at 120, how many Applications are updated
// at once. Profiles of real fleets are built in; a fleet can define its own under
// the key fleet of its ladder.yaml.
//
// The package is pure.
package profile

import (
	"cmp"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// Fleet is the fleet section of a ladder.yaml.
type Fleet struct {
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

// Styles of a rollout.
const (
	// Steps is an ApplicationSet that deploys in steps (RollingSync).
	Steps = "steps"
	// Waves is a parent Application whose children have sync waves.
	Waves = "waves"
)

// Relations between the bands of a profile.
const (
	// Together is one order for all bands.
	Together = "together"
	// Independent is an ApplicationSet for each band: each has its own steps, all
	// start at the same time, and they are not ordered.
	Independent = "independent"
)

// Profile is the complete description of a rollout.
type Profile struct {
	Name string `yaml:"name"`
	// Why is the purpose of the profile, and Source its origin.
	Why    string `yaml:"why"`
	Source string `yaml:"source"`
	// Digits is the number of digits of a step.
	Digits int `yaml:"digits"`
	// Label is the label of Applications with the step.
	Label string `yaml:"label"`
	// Key is the key of component.yaml with the step.
	Key string `yaml:"key"`
	// Style is Steps or Waves.
	Style string `yaml:"style"`
	// Sets is Together or Independent; empty means Together.
	Sets string `yaml:"sets"`
	// Places are the possible places of each band, by the distance from its start.
	Places []Place `yaml:"places"`
	Bands  []Band  `yaml:"bands"`
}

// Band is a range of steps for a part of the platform.
type Band struct {
	Name string `yaml:"name"`
	Why  string `yaml:"why"`
	From int    `yaml:"from"`
	To   int    `yaml:"to"`
	// Domains are the domains of its components; none means any.
	Domains []string `yaml:"domains"`
	// At are the places of the profile that the band uses.
	At []int `yaml:"at"`
	// Places are additional ones, by step.
	Places []Place `yaml:"places"`
	// Wave is the sync wave of the band's parent, if each band has one.
	Wave int `yaml:"wave"`
}

// Place is a step and its purpose.
type Place struct {
	// At is the distance from the start of the band, Phase the step itself: one of
	// the two is set.
	At   int `yaml:"at"`
	Step int `yaml:"phase"`
	// Title is its name for users.
	Title string `yaml:"title"`
	// Rungs are the rungs of its components; the first is its purpose. None means
	// any.
	Rungs []string `yaml:"rungs"`
	// MaxUpdate limits concurrent updates of Applications; 0 means no limit.
	MaxUpdate int `yaml:"maxUpdate"`
	// Manual means that users sync its Applications one by one: a maxUpdate of 0 in
	// an ApplicationSet.
	Manual bool   `yaml:"manual"`
	Why    string `yaml:"why"`
}

// Accepts reports whether components of a rung belong in a place.
func (p Place) Accepts(rung string) bool { return len(p.Rungs) == 0 || slices.Contains(p.Rungs, rung) }

//go:embed profiles/*.yaml
var files embed.FS

// Default is the default profile.
const Default = "bands"

// Names lists the built-in profiles.
func Names() []string {
	entries, err := files.ReadDir("profiles")
	if err != nil {
		panic(err) // the directory is embedded
	}
	var all []string
	for _, e := range entries {
		all = append(all, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return all
}

// Builtin returns a built-in profile by name.
func Builtin(name string) (Profile, error) {
	p, err := written(name)
	return p.complete(), err
}

// written returns a built-in profile as in its file.
func written(name string) (Profile, error) {
	text, err := files.ReadFile("profiles/" + name + ".yaml")
	if err != nil {
		return Profile{}, finding.Fault(fmt.Sprintf("unknown profile %q", name), fmt.Sprintf("use one of %s", strings.Join(Names(), ", ")))
	}
	return settings.Embedded[Profile](text), nil
}

// Of returns the profile that a ladder.yaml defines. Its bands replace those of the
// named profile; each of its places replaces the one at the same distance in all
// bands that have it.
func Of(f Fleet) (Profile, error) {
	p, err := written(cmp.Or(f.Profile, Default))
	if err != nil {
		return p, err
	}
	p.Digits = cmp.Or(f.Digits, p.Digits)
	p.Label = cmp.Or(f.Label, p.Label)
	p.Key = cmp.Or(f.Key, p.Key)
	p.Style = cmp.Or(f.Style, p.Style)
	p.Sets = cmp.Or(f.Sets, p.Sets)
	p.Places = over(p.Places, f.Places)
	if f.Bands != nil {
		p.Bands = f.Bands
	}
	p = p.complete()
	return p, p.check()
}

// over overrides places: those at the same distance are replaced, the others added.
func over(before, places []Place) []Place {
	all := slices.DeleteFunc(slices.Clone(before), func(b Place) bool {
		return slices.ContainsFunc(places, func(p Place) bool { return p.At == b.At })
	})
	all = append(all, places...)
	slices.SortStableFunc(all, func(x, y Place) int { return cmp.Compare(x.At, y.At) })
	return all
}

// complete assigns every band its places, in order.
func (p Profile) complete() Profile {
	p.Digits = cmp.Or(p.Digits, 1)
	p.Bands = slices.Clone(p.Bands)
	for i := range p.Bands {
		b := &p.Bands[i]
		b.Places = slices.Clone(b.Places)
		for _, at := range b.At {
			for _, place := range p.Places {
				if place.At == at {
					place.Step = b.From + at
					b.Places = append(b.Places, place)
				}
			}
		}
		b.At = nil
		slices.SortStableFunc(b.Places, func(x, y Place) int { return cmp.Compare(x.Step, y.Step) })
	}
	return p
}

// check validates a profile. Errors end with a remedy.
func (p Profile) check() error {
	if p.Style != Steps && p.Style != Waves {
		return finding.Fault(fmt.Sprintf("unknown style %q", p.Style), fmt.Sprintf("use %s or %s", Steps, Waves))
	}
	if p.Sets != "" && p.Sets != Together && p.Sets != Independent {
		return finding.Fault(fmt.Sprintf("bands cannot be %q to each other", p.Sets), fmt.Sprintf("let sets be %s or %s", Together, Independent))
	}
	if p.Key != "rolloutPhase" && p.Key != "wave" {
		return finding.Fault(fmt.Sprintf("the key %q cannot hold the step", p.Key), "use rolloutPhase or wave")
	}
	for i, b := range p.Bands {
		if b.To < b.From {
			return finding.Fault(fmt.Sprintf("band %s ends at %d, before it begins", b.Name, b.To), "correct from and to")
		}
		if i > 0 && b.From <= p.Bands[i-1].To {
			return finding.Fault(fmt.Sprintf("band %s begins at %d, where %s has not ended", b.Name, b.From, p.Bands[i-1].Name),
				"let bands follow each other")
		}
		for j, place := range b.Places {
			if place.Step < b.From || place.Step > b.To {
				return finding.Fault(fmt.Sprintf("the place %d is not in its band %s", place.Step, b.Name),
					"use a number between from and to of the band")
			}
			if place.MaxUpdate < 0 {
				return finding.Fault(fmt.Sprintf("the place %d has a maxUpdate of %d", place.Step, place.MaxUpdate),
					"write a whole number, or leave it out to update all at once")
			}
			if place.Manual && place.MaxUpdate > 0 {
				return finding.Fault(fmt.Sprintf("the place %d is manual and has a maxUpdate", place.Step), "keep one of the two")
			}
			if j > 0 && place.Step == b.Places[j-1].Step {
				return finding.Fault(fmt.Sprintf("band %s has the place %d twice", b.Name, place.Step), "keep one of the two")
			}
		}
	}
	return nil
}

// ParentOf returns the name of the parent of a band, in a fleet with a name.
func (f Fleet) ParentOf(fleet, band string) string {
	return strings.ReplaceAll(cmp.Or(f.Parents, fleet+"-*"), "*", band)
}

// Band returns the band of a step.
func (p Profile) Band(step int) (Band, bool) {
	for _, b := range p.Bands {
		if b.From <= step && step <= b.To {
			return b, true
		}
	}
	return Band{}, false
}

// Place returns the place of a step.
func (p Profile) Place(step int) (Place, bool) {
	b, _ := p.Band(step)
	for _, place := range b.Places {
		if place.Step == step {
			return place, true
		}
	}
	return Place{}, false
}

// All lists the places of all bands in order.
func (p Profile) All() []Place {
	var all []Place
	for _, b := range p.Bands {
		all = append(all, b.Places...)
	}
	return all
}

// BandsOf lists the bands for components of a domain: those of the domain, or else
// those for any.
func (p Profile) BandsOf(domain string) []Band {
	var own, open []Band
	for _, b := range p.Bands {
		switch {
		case slices.Contains(b.Domains, domain):
			own = append(own, b)
		case len(b.Domains) == 0:
			open = append(open, b)
		}
	}
	if own != nil {
		return own
	}
	return open
}

// Write formats a step with the fleet's number of digits.
func (p Profile) Write(step int) string { return component.Padded(step, p.Digits) }

// Noun is what texts call a step: "wave" if steps are sync waves.
func (p Profile) Noun() string {
	if p.Style == Waves {
		return "wave"
	}
	return "step"
}

// StepName names a step in texts, such as "step 120" or "wave 3".
func (p Profile) StepName(number int) string { return p.Noun() + " " + p.Write(number) }
