package plugin

import (
	"fmt"
	"strings"
	"time"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/seed"
	"github.com/ladder-cmp/ladder/render/random"
)

// What the parameter random says.
const (
	randomDerived = "derived"
	randomDrawn   = "drawn"
)

// Random derives what templates of charts generate (see package random).
type Random struct {
	// Key is asked for the Key of an Application. It is given what is known of the
	// Application from the settings of its rendering, of which a tenant may have written
	// all: who knows the Application from Argo CD takes that instead.
	Key func(of seed.Application) seed.Key
	// Now is the time, by which certificates are renewed.
	Now time.Time
	// Keys remembers keys; it may be nil.
	Keys *random.Keys
}

// ProjectName is the variable with the AppProject.
const ProjectName = "ARGOCD_APP_PROJECT_NAME"

// SeedApplication is the Application for which values are derived, as Argo CD says: nothing
// that stands in the repository or in the parameters of the Application is part of it. ok
// is false for an Argo CD that does not name the AppProject, which 3.0 was the first to do.
func SeedApplication(env map[string]string) (of seed.Application, ok bool) {
	of = seed.Application{Project: env[ProjectName], Name: env["ARGOCD_APP_NAME"], Namespace: env["ARGOCD_APP_NAMESPACE"]}
	return of, of.Project != "" && of.Name != ""
}

// derive sets where random values come from.
func (opt *options) derive(from *Random, without random.Without) error {
	opt.render.Random.Without = without
	if opt.random == randomDrawn {
		opt.render.Random.Without = random.Unwanted
		return nil
	}
	if from != nil {
		key := from.Key(seed.Application{Name: opt.render.Name, Namespace: opt.render.Namespace})
		opt.render.Random = random.Source{Key: &key, Now: from.Now, Keys: from.Keys}
		return nil
	}
	if opt.random != randomDerived {
		return nil
	}
	f := finding.Finding{Severity: finding.Error, Rule: "no-seed", Field: "parameter random",
		Message: "random is derived, but no seed is configured", Remedy: "configure a seed with --seed-file, or set random: drawn"}
	if without == random.NoProject {
		f.Message = "random is derived, but Argo CD does not pass the AppProject, which the derivation needs"
		f.Remedy = without.Remedy() + ", or set random: drawn"
	}
	return f
}

// RenewalFindings say of each certificate that was derived how long it is valid, and when it
// renews.
func (r Result) RenewalFindings() []finding.Finding {
	const day = "2006-01-02"
	var all []finding.Finding
	for _, n := range r.Renewals {
		all = append(all, finding.Finding{Severity: finding.Note, Rule: "renewal", File: n.Template,
			Message: fmt.Sprintf("the certificate %q is valid until %s, and the first rendering after %s renews it", n.Name, n.NotAfter.Format(day), n.Renews.Format(day)),
			Remedy:  "nothing to do; Argo CD renders at least once a day"})
	}
	return all
}

// LookupFindings say of each template that called lookup what it asked for, and that the
// cluster was taken for empty.
func (r Result) LookupFindings() []finding.Finding {
	const most = 4
	of := map[string][]string{}
	var files []string
	for _, l := range r.Lookups {
		if of[l.File] == nil {
			files = append(files, l.File)
		}
		of[l.File] = append(of[l.File], l.Of)
	}
	var all []finding.Finding
	for _, file := range files {
		asked := strings.Join(of[file][:min(most, len(of[file]))], ", ")
		if more := len(of[file]) - most; more > 0 {
			asked = fmt.Sprintf("%s and %d more", asked, more)
		}
		all = append(all, finding.Finding{Severity: finding.Note, Rule: "lookup", File: file,
			Message: "lookup finds nothing, because Argo CD renders without a cluster, so the template takes the branch for an empty cluster: " + asked,
			Remedy:  "set in values what it would find"})
	}
	return all
}
