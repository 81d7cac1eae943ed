package profile

import (
	"slices"
	"testing"
)

// TestBuiltin: the profiles that are built in say what they are for, and each of
// their bands has a place.
func TestBuiltin(t *testing.T) {
	for _, name := range Names() {
		p, err := Of(Fleet{Profile: name})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if p.Name != name || p.Why == "" || p.Source == "" {
			t.Errorf("%s: it is called %q, or gives no reason or no source", name, p.Name)
		}
		for _, b := range p.Bands {
			if b.Name == "" || b.Why == "" || len(b.Places) == 0 {
				t.Errorf("%s: band %s has no name, no reason or no place", name, b.Name)
			}
			for _, place := range b.Places {
				if place.Title == "" || len(place.Rungs) == 0 {
					t.Errorf("%s: the place %d has no title, or is for nothing", name, place.Phase)
				}
			}
		}
	}
}

// TestWaves: bands may be below zero, and a wave may be left out.
func TestWaves(t *testing.T) {
	p, err := Builtin("waves")
	if err != nil {
		t.Fatal(err)
	}
	var phases []int
	for _, place := range p.All() {
		phases = append(phases, place.Phase)
	}
	if want := []int{-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 20}; !slices.Equal(phases, want) {
		t.Errorf("the waves are %v, want %v", phases, want)
	}
	if b, ok := p.Band(-3); !ok || b.Name != "storage" || p.Write(-3) != "-3" {
		t.Errorf("wave -3 is band %q, written %s", b.Name, p.Write(-3))
	}
	if b, ok := p.Band(10); ok {
		t.Errorf("wave 10 is in band %s", b.Name)
	}
}
