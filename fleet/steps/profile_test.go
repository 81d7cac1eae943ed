package steps_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/internal/golden"
)

// TestPhases says of each fleet which steps its rollout has, how many
// Applications each updates at a time, and who stands where.
func TestPhases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/fleets/*/want.phases.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no fleet with phases", err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			f := fleettest.Load(t, name)
			golden.File(t, file, places(f))
			faulty := strings.HasSuffix(name, "-before") || strings.HasSuffix(name, "-between")
			for _, app := range f.Applications {
				place, ok := f.Profile.Place(app.Step.Number)
				if !ok {
					t.Errorf("%s: no place at %s", app.Name, f.FormatStep(app.Step))
				}
				if !faulty && !place.Accepts(app.Rung) {
					t.Errorf("%s is for %s (%s), and stands at %s, for %v", app.Name, app.Rung, app.RungWhy, f.FormatStep(app.Step), place.Rungs)
				}
			}
		})
	}
}

func places(f *fleet.Fleet) string {
	var b strings.Builder
	for _, band := range f.Profile.Bands {
		fmt.Fprintf(&b, "%s %s-%s, wave %d\n", band.Name, f.Profile.Write(band.From), f.Profile.Write(band.To), band.Wave)
		for _, place := range band.Places {
			fmt.Fprintf(&b, "  %s maxUpdate %d\n", f.Profile.Write(place.Step), place.MaxUpdate)
			for _, app := range f.Applications {
				if app.Step.Number != place.Step {
					continue
				}
				fmt.Fprintf(&b, "    %s %s %s/%s %s", app.Name, app.Dir[strings.Index(app.Dir, "components/")+len("components/"):],
					cmp.Or(app.Domain, app.Tier), app.Project, app.Namespace)
				if !app.IsEnabled() {
					b.WriteString(" disabled")
				}
				if names := app.Environments.Names(); names != nil {
					fmt.Fprintf(&b, " in %s", strings.Join(names, " "))
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}
