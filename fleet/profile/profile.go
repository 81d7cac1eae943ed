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
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
)

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
func Of(f Section) (Profile, error) {
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
