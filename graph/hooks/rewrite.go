package hooks

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

// helmKeys are the annotations of Helm that Argo CD reads: the policies are united with its
// own, and the weight counts on ordinary objects, too.
var helmKeys = []string{object.HelmHook, object.HelmWeight, object.HelmHookDelete}

// rewrite returns the object as its decision has it.
func (d *Decision) rewrite() (object.Object, error) {
	switch d.Form {
	case SyncHook:
		return d.asSyncHook()
	case Ordinary:
		return d.asOrdinary()
	}
	return d.before, nil
}

// asSyncHook returns the object as a hook of the Sync phase. Its wave is computed: that of
// the manifest was one of another phase.
func (d *Decision) asSyncHook() (object.Object, error) {
	policies := d.before.DeletePolicies()
	if d.runsOnce() && !slices.Contains(policies, object.BeforeHookCreation) {
		policies = slices.Insert(policies, 0, object.BeforeHookCreation) // else an unchanged Job would not run again
	}
	set := []object.Annotation{{Key: object.Hook, Value: string(object.Sync)}}
	if len(policies) > 0 {
		set = append(set, object.Annotation{Key: object.HookDelete, Value: strings.Join(policies, ",")})
	}
	drop := append([]string{object.SyncWave}, helmKeys...)
	if len(d.Events.Delete) > 0 { // Argo CD reads both annotations
		set = append(set, object.Annotation{Key: object.HelmHook, Value: strings.Join(d.Events.Delete, ",")})
		drop = []string{object.SyncWave, object.HelmWeight, object.HelmHookDelete}
	}
	return edit(d.before, set, drop)
}

// asOrdinary returns the object without anything that makes it a hook. What holds data was
// never pruned as a hook, and is not pruned from now on.
func (d *Decision) asOrdinary() (object.Object, error) {
	var set []object.Annotation
	if d.kind.Recreated.Kept {
		options := []string{object.NoPrune}
		if d.isHome {
			options = append(options, object.NoDelete)
		}
		list, _ := d.before.Annotation(object.SyncOptions)
		if list, changed := object.WithOptions(list, options...); changed {
			set = append(set, object.Annotation{Key: object.SyncOptions, Value: list})
		}
	}
	return edit(d.before, set, append([]string{object.SyncWave, object.Hook, object.HookDelete}, helmKeys...))
}

// edit sets and removes annotations.
func edit(o object.Object, set []object.Annotation, drop []string) (object.Object, error) {
	o, err := o.AnnotateAll(set)
	if err != nil {
		return o, err
	}
	var paths [][]string
	left := 0
	for _, f := range o.Get("metadata", "annotations").Fields() {
		if !slices.Contains(drop, f.Key) {
			left++
			continue
		}
		paths = append(paths, []string{"metadata", "annotations", f.Key})
	}
	if left == 0 && paths != nil {
		paths = [][]string{{"metadata", "annotations"}}
	}
	return o.Without(paths...)
}

// rewritten returns the objects with their decisions applied.
func rewritten(objs []object.Object, all []Decision) ([]object.Object, error) {
	of := map[object.Object]*Decision{}
	for i := range all {
		of[all[i].before] = &all[i]
	}
	out := make([]object.Object, 0, len(objs))
	for _, o := range objs {
		d := of[o]
		if d == nil {
			out = append(out, o)
			continue
		}
		var err error
		if d.After, err = d.rewrite(); err != nil {
			return nil, err
		}
		if d.Form != Dropped {
			out = append(out, d.After)
		}
	}
	return out, nil
}
