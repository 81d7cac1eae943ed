package fleet

import (
	"context"
	"slices"

	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
)

// A chart may ask whether the cluster has a kind. During the first rollout the answer depends
// on its progress; later, all kinds exist. A component with capabilities: fleet always gets
// exactly the kinds that components of earlier steps install.

// settleCapabilities renders Applications with capabilities: fleet again, in the order of their
// steps, so that later Applications see the kinds that earlier ones install only in this
// rendering.
func (f *Fleet) settleCapabilities(ctx context.Context, src Source, memory *input.Memory) {
	for _, app := range f.Applications {
		if ctx.Err() != nil || app.Unread || app.Component.Chart.Remote() ||
			!app.request(src, memory).UsesFleetCapabilities(f.Settings.Platform()) {
			continue
		}
		if app.EarlierAPIVersions = f.installedBefore(app); len(app.EarlierAPIVersions) > 0 {
			app.Failed, app.Objects, app.Findings = false, nil, nil
			f.renderOne(ctx, src, app, memory)
		}
	}
}

// installedBefore returns the API versions of CRDs in Applications of earlier steps that are
// deployed wherever the given one is.
func (f *Fleet) installedBefore(app *Application) []string {
	var all []string
	for _, other := range f.Applications {
		if !other.IsEnabled() || !other.Step.Set || !app.Step.Set || other.Step.Number >= app.Step.Number || !alongside(other, app) {
			continue
		}
		for _, o := range other.Objects {
			for _, version := range apiVersionsOf(o) {
				if !slices.Contains(all, version) {
					all = append(all, version)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// alongside reports whether an Application is deployed wherever another one is.
func alongside(provider, consumer *Application) bool {
	if !provider.Environments.MayBeMissing() {
		return true
	}
	if !consumer.Environments.MayBeMissing() {
		return false
	}
	environments := slices.Concat(consumer.Environments.Names(), provider.Environments.Names())
	return !slices.ContainsFunc(environments, func(e string) bool { return consumer.IsIn(e) && !provider.IsIn(e) })
}

// apiVersionsOf returns the API versions that the API server serves because of a
// CustomResourceDefinition, in Argo CD's format for Helm: with and without the kind.
func apiVersionsOf(o object.Object) []string {
	if o.ID.GroupKind() != "CustomResourceDefinition.apiextensions.k8s.io" {
		return nil
	}
	spec := o.Root().Get("spec")
	group, kind := spec.Get("group").Text(), spec.Get("names", "kind").Text()
	var all []string
	for _, v := range spec.Get("versions").Items() {
		if v.Get("served").True() {
			all = append(all, group+"/"+v.Get("name").Text(), group+"/"+v.Get("name").Text()+"/"+kind)
		}
	}
	return all
}
