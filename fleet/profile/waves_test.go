package profile_test

import (
	"slices"
	"testing"

	"github.com/ladder-cmp/ladder/fleet/profile"
)

// TestWaves: bands may be below zero, and a wave may be left out.
func TestWaves(t *testing.T) {
	p, err := profile.Builtin("waves")
	if err != nil {
		t.Fatal(err)
	}
	var steps []int
	for _, place := range p.All() {
		steps = append(steps, place.Step)
	}
	if want := []int{-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 20}; !slices.Equal(steps, want) {
		t.Errorf("the waves are %v, want %v", steps, want)
	}
	if b, ok := p.Band(-3); !ok || b.Name != "storage" || p.Write(-3) != "-3" {
		t.Errorf("wave -3 is band %q, written %s", b.Name, p.Write(-3))
	}
	if b, ok := p.Band(10); ok {
		t.Errorf("wave 10 is in band %s", b.Name)
	}
}
