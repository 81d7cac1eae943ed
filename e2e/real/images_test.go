package real_test

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// TestImages builds what the cases deploy before the first of them is timed: a build
// during a case would compete with it for CPUs. Tests that run at once begin after it.
func TestImages(t *testing.T) {
	lab := labDir(t, "images")
	for _, name := range slices.Sorted(maps.Keys(shop.cases)) {
		t.Run(name, func(t *testing.T) {
			since := time.Now()
			made, err := shop.prepare(t.Context(), lab, shop.cases[name], without)
			if err != nil {
				t.Fatal(err)
			}
			for repository, image := range made.images {
				if size, err := image.Size(); err != nil || size == 0 {
					t.Errorf("image %s: %d bytes: %v", repository, size, err)
				}
			}
			t.Logf("%d images in %s", len(made.images), time.Since(since).Round(time.Second))
		})
	}
}
