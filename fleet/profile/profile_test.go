package profile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestBuiltin: every built-in profile decodes, keeps the rules that one of a
// ladder.yaml must keep, and says why each place is there; a place alone in its band says it
// by that.
func TestBuiltin(t *testing.T) {
	if names := profile.Names(); !slices.Contains(names, profile.Default) {
		t.Fatalf("profiles are %v, without %s", names, profile.Default)
	}
	var rungs []string
	for _, r := range knowledge.Default().Rungs() {
		rungs = append(rungs, r.Name)
	}
	for _, name := range profile.Names() {
		t.Run(name, func(t *testing.T) {
			p, err := profile.Of(profile.Section{Profile: name})
			if err != nil {
				t.Fatal(err)
			}
			if p.Name != name || p.Why == "" || p.Source == "" || p.Label == "" {
				t.Errorf("it is called %q, for %q, from %q, with the label %q", p.Name, p.Why, p.Source, p.Label)
			}
			last := -1 << 31
			for _, b := range p.Bands {
				if b.Name == "" || b.Why == "" {
					t.Errorf("the band from %d is called %q, for %q", b.From, b.Name, b.Why)
				}
			}
			for _, place := range p.All() {
				if place.Step <= last {
					t.Errorf("%d comes after %d", place.Step, last)
				}
				last = place.Step
				band, _ := p.Band(place.Step)
				if alone := len(band.Places) == 1; place.Title == "" || place.Why == "" && !alone || place.MaxUpdate < 0 {
					t.Errorf("%d is called %q, for %q, with %d updates at the same time", place.Step, place.Title, place.Why, place.MaxUpdate)
				}
				for _, r := range place.Rungs {
					if !slices.Contains(rungs, r) {
						t.Errorf("%d is for %s, which is no rung", place.Step, r)
					}
				}
				if found, ok := p.Place(place.Step); !ok || found.Title != place.Title {
					t.Errorf("the place at %d is not found again", place.Step)
				}
			}
		})
	}
}

// TestOf: what a ladder.yaml says takes the place of what the profile says, and
// what cannot be meant is refused with a remedy.
func TestOf(t *testing.T) {
	one := []profile.Band{{Name: "all", To: 9, Places: []profile.Place{{Step: 3, MaxUpdate: 2}}}}
	p, err := profile.Of(profile.Section{Profile: "tiers", Digits: 4, Bands: one})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.All()) != 1 || p.Write(3) != "0003" || p.Key != "wave" {
		t.Errorf("places are %v, 3 is written %s, the key is %s", p.All(), p.Write(3), p.Key)
	}
	for want, f := range map[string]profile.Section{
		"unknown profile":      {Profile: "ladders"},
		"unknown style":        {Style: "jumps"},
		"cannot hold the step": {Key: "phase"},
		"before it begins":     {Bands: []profile.Band{{From: 2, To: 1}}},
		"has not ended":        {Bands: []profile.Band{{To: 9}, {From: 9, To: 10}}},
		"not in its band":      {Bands: []profile.Band{{To: 9, Places: []profile.Place{{Step: 10}}}}},
		"maxUpdate of -1":      {Bands: []profile.Band{{To: 9, Places: []profile.Place{{Step: 1, MaxUpdate: -1}}}}},
		"is manual and has":    {Bands: []profile.Band{{To: 9, Places: []profile.Place{{Step: 1, MaxUpdate: 1, Manual: true}}}}},
		"twice":                {Bands: []profile.Band{{To: 9, Places: []profile.Place{{Step: 1}, {Step: 1}}}}},
	} {
		if _, err := profile.Of(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want something with %q", f, err, want)
		}
	}
}

// TestPlacesAlone: a place of a ladder.yaml is in all bands of the built-in
// profile that have one at its distance; the other places stay.
func TestPlacesAlone(t *testing.T) {
	before, err := profile.Builtin("bands")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Of(
		profile.Section{Places: []profile.Place{{At: 20, Title: "our operators", Rungs: []string{"controllers"}, MaxUpdate: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.All()) != len(before.All()) {
		t.Errorf("there are %d places, of %d", len(p.All()), len(before.All()))
	}
	changed := 0
	for i, place := range p.All() {
		if was := before.All()[i]; place.Step != was.Step {
			t.Errorf("the place %d is %d now", was.Step, place.Step)
		} else if place.MaxUpdate != was.MaxUpdate {
			changed++
		}
	}
	for _, step := range []int{20, 120, 220, 320, 420, 520, 620} {
		if place, _ := p.Place(step); place.Title != "our operators" || place.MaxUpdate != 7 {
			t.Errorf("%d is called %q, with %d updates", step, place.Title, place.MaxUpdate)
		}
	}
	if changed != 7 {
		t.Errorf("%d places changed, want 7", changed)
	}
	if again, _ := profile.Builtin("bands"); again.All()[1].MaxUpdate != before.All()[1].MaxUpdate {
		t.Error("the built-in profile changed")
	}
}
