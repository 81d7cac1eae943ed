package generate

import (
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
)

// retry returns the retry settings for an Application: those in its component.yaml, those that
// its objects need (the note olm-retry), or the default.
func (w writer) retry(app *fleet.Application) component.Retry {
	if app.Retry != nil {
		return app.Retry.WithDefaults(w.defaultRetry())
	}
	for _, o := range app.Objects {
		if k, _ := w.Base.Kind(o.ID.Group, o.ID.Kind); k.Operator.Retry != "" {
			var needed component.Retry
			if err := yaml.Unmarshal([]byte(k.Operator.Retry), &needed); err == nil {
				return needed.WithDefaults(w.defaultRetry())
			}
		}
	}
	return w.defaultRetry()
}

// defaultRetry returns the default retry of the fleet.
func (w writer) defaultRetry() component.Retry {
	if w.Settings.Retry != nil {
		return w.Settings.Retry.WithDefaults(defaultRetry)
	}
	return defaultRetry
}

// retryGroup is a group of Applications with the same retry.
type retryGroup struct {
	component.Retry
	Names []string
}

// Dict returns the retry as an expression for Argo CD's templates.
func (r retryGroup) Dict() string {
	return fmt.Sprintf(`(dict "limit" %d "backoff" (dict "duration" %q "factor" %d "maxDuration" %q))`, r.Limit,
		r.Backoff.Duration, r.Backoff.Factor, r.Backoff.MaxDuration)
}

// retries returns the Applications whose retry is not the default.
func (w writer) retries() []retryGroup {
	var all []retryGroup
	for _, app := range w.Applications {
		r := w.retry(app)
		if r == w.defaultRetry() {
			continue
		}
		i := slices.IndexFunc(all, func(other retryGroup) bool { return other.Retry == r })
		if i < 0 {
			i, all = len(all), append(all, retryGroup{Retry: r})
		}
		all[i].Names = append(all[i].Names, app.Name)
	}
	for _, r := range all {
		slices.Sort(r.Names)
	}
	slices.SortFunc(all, func(x, y retryGroup) int { return strings.Compare(x.Names[0], y.Names[0]) })
	return all
}

// defaultRetry is the default retry of a sync: if a webhook is ready but not yet reachable, the
// first attempt fails.
var defaultRetry = component.Retry{Limit: 5, Backoff: component.Backoff{Duration: "5s", Factor: 2, MaxDuration: "3m"}}
