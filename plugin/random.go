package plugin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/random"
	"github.com/ladder-cmp/ladder/render/repeat"
)

// The values of the random parameter.
const (
	randomDerived = "derived"
	randomDrawn   = "drawn"
)

// Random derives the values that chart templates generate (see package random).
type Random struct {
	// Key returns the key of an Application. Its argument is based on the settings
	// of the rendering, which a tenant may control. A caller that knows the
	// Application from Argo CD ignores it.
	Key func(of random.Owner) random.Key
	// Now is the time for renewing certificates.
	Now time.Time
	// Keys caches keys; it may be nil.
	Keys *random.Keys
}

// ProjectName is the environment variable with the AppProject.
const ProjectName = "ARGOCD_APP_PROJECT_NAME"

// SeedApplication returns the Application for which values are derived, as set by
// Argo CD. Nothing in the repository or in the Application's parameters affects it.
// ok is false if Argo CD does not name the AppProject, as before 3.0.
func SeedApplication(env map[string]string) (app random.Owner, ok bool) {
	app = random.Owner{Project: env[ProjectName], Name: env["ARGOCD_APP_NAME"], Namespace: env["ARGOCD_APP_NAMESPACE"]}
	return app, app.Project != "" && app.Name != ""
}

// derive sets the source of random values.
func (opt *options) derive(from *Random, reason random.WhyRandom) error {
	opt.render.Random.WhyRandom = reason
	if opt.random == randomDrawn {
		opt.render.Random.WhyRandom = random.Disabled
		return nil
	}
	if from != nil {
		key := from.Key(random.Owner{Name: opt.render.Name, Namespace: opt.render.Namespace})
		opt.render.Random = random.Source{Key: &key, Now: from.Now, Keys: from.Keys}
		return nil
	}
	if opt.random != randomDerived {
		return nil
	}
	f := finding.Finding{Severity: finding.Error, Rule: "random", Field: "parameter random",
		Message: `"random" is set to derived, but no seed is configured`, Remedy: "configure a seed with --seed-file, or set random: drawn"}
	if reason == random.NoProject {
		f.Message = `"random" is set to derived, but Argo CD does not pass the AppProject, which the derivation needs`
		f.Remedy = reason.Remedy() + ", or set random: drawn"
	}
	return f
}

// AllFindings returns the findings of the result, and notes about its renewals and lookups.
func (r Result) AllFindings() []finding.Finding {
	return slices.Concat(r.Findings, r.RenewalFindings(), r.LookupFindings())
}

// RenewalFindings reports for each derived certificate how long it is valid, and
// when it is renewed.
func (r Result) RenewalFindings() []finding.Finding {
	const day = "2006-01-02"
	var all []finding.Finding
	for _, n := range r.Renewals {
		all = append(all, finding.Finding{Severity: finding.Note, Rule: "renewal", File: n.Template, About: n.Name,
			Message: fmt.Sprintf("the certificate %q is valid until %s, and the first rendering after %s renews it", n.Name,
				n.NotAfter.Format(day), n.Renews.Format(day)),
			Remedy: "no action needed: Argo CD renders at least once a day"})
	}
	return all
}

// LookupFindings reports for each template that called lookup what it requested,
// and that the result was empty.
func (r Result) LookupFindings() []finding.Finding {
	const most = 4
	requested := map[string][]string{}
	var files []string
	for _, l := range r.Lookups {
		if requested[l.File] == nil {
			files = append(files, l.File)
		}
		requested[l.File] = append(requested[l.File], l.Of)
	}
	var all []finding.Finding
	for _, file := range files {
		requests := strings.Join(requested[file][:min(most, len(requested[file]))], ", ")
		if more := len(requested[file]) - most; more > 0 {
			requests = fmt.Sprintf("%s and %d more", requests, more)
		}
		all = append(all, finding.Finding{Severity: finding.Note, Rule: repeat.ClusterDependent, File: file, About: requests,
			Message: fmt.Sprintf("lookup returns nothing for %s, because Argo CD renders without access to the cluster; "+
				"the template renders as for an empty cluster", requests),
			Remedy: "in your values, set what lookup would return"})
	}
	return all
}
