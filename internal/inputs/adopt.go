package inputs

import (
	"context"
	"fmt"

	"github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/seedfile"
	"github.com/ladder-cmp/ladder/render/random"
	"github.com/ladder-cmp/ladder/render/repeat"
)

// Adopt finds the generated values of the component in dir, and the chart values that keep
// those of a cluster.
func (o Options) Adopt(ctx context.Context, dir string, c cluster.Cluster) (result repeat.Adoption, notes []finding.Finding, err error) {
	req, base, done, err := o.Open(dir)
	if err != nil {
		return result, nil, err
	}
	defer done()
	if req.Random, err = TemporaryRandom(); err != nil { // for a component that requires a seed
		return result, nil, err
	}
	seeds, err := twoSeeds()
	if err != nil {
		return result, nil, err
	}
	found, err := req.Adopt(ctx, base, seeds)
	if err != nil {
		return result, nil, o.Fault(req, err)
	}
	if len(found.Generated) == 0 {
		return result, []finding.Finding{note("%s generates no values of Secrets, so there is nothing to keep", dir)}, nil
	}
	if found.NotTried > 0 {
		notes = append(notes, note("%s has too many empty values to test whether each determines a generated one; %d were not tested", dir, found.NotTried))
	}
	c.Namespace = found.Secrets()[0].Namespace
	live, err := c.Secrets(ctx, found.Secrets())
	if err != nil {
		return result, notes, err
	}
	result, err = found.Adopt(ctx, live)
	return result, notes, err
}

func note(format string, args ...any) finding.Finding {
	return finding.Finding{Severity: finding.Note, Rule: "adoption", Message: fmt.Sprintf(format, args...)}
}

// twoSeeds generates two seeds, whose values differ wherever a template generates one.
func twoSeeds() (keys [2]random.Key, err error) {
	for i := range keys {
		made, err := random.ParseSeed([]byte(seedfile.New()))
		if err != nil {
			return keys, err
		}
		keys[i] = made.Key(random.Application{})
	}
	return keys, nil
}
