package kustomize

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
)

// patchTarget is the target of a patch or a replacement that names one object.
type patchTarget struct {
	place  finding.Finding
	target types.Selector
}

// literalName matches names that mean only themselves as a pattern.
var literalName = lazyregexp.New(`^[a-z0-9-]+$`)

// recordTarget keeps the target of a patch or a replacement until the build shows what it matches. Patterns and
// the targets of Components may be for objects that only some kustomizations have.
func (c *checker) recordTarget(k types.Kustomization, field string, target *types.Selector) {
	if target == nil || k.Kind == ComponentKind || !literalName.MatchString(target.Name) || target.Kind == "" {
		return
	}
	f := c.finding(finding.Warning, field, "", "no object matches the target, so kustomize ignores the patch",
		"correct the target, or remove the patch")
	if strings.HasPrefix(field, "replacements") {
		f.Message, f.Remedy = "no object matches the target, so kustomize replaces nothing there", "correct the target, or remove it"
	}
	c.targets = append(c.targets, patchTarget{f, *target})
}

// candidate is an object that a target may mean, before or after the build.
type candidate struct {
	place string // empty for objects of the build
	gvk   resid.Gvk
	name  string
	// namespace is empty if the object does not set one.
	namespace string
}

// unmatchedPatches reports the patches whose target cannot have matched an object at any
// time: no object has this group, version and kind and such a name, neither in the files nor
// in the result. Labels are ignored, and names may have prefixes and suffixes in between.
func (a *assembly) unmatchedPatches(built resmap.ResMap) (found []finding.Finding) {
	if len(a.targets) == 0 {
		return nil
	}
	var all []candidate
	for _, r := range built.Resources() {
		all = append(all, candidate{"", r.GetGvk(), r.GetName(), r.GetNamespace()})
	}
	moved := false // whether the build may have changed namespaces
	for _, f := range a.read {
		moved = moved || namespaces.Match(f.data)
		if IsFile(path.Base(f.name)) {
			continue
		}
		objs, _ := object.Parse(f.tree.Show(f.name), 1, string(f.data)) // kustomize reports what is invalid
		for _, o := range objs {
			group, version := resid.ParseGroupVersion(o.APIVersion)
			all = append(all, candidate{fmt.Sprintf("%s:%d", o.File, o.Line), resid.NewGvk(group, version, o.ID.Kind), o.ID.Name, o.ID.Namespace})
		}
	}
	for _, t := range a.targets {
		selector, err := types.NewSelectorRegex(&t.target)
		if err != nil || slices.ContainsFunc(all, func(c candidate) bool {
			return selector.MatchGvk(c.gvk) && (strings.Contains(c.name, t.target.Name) || strings.Contains(t.target.Name, c.name)) &&
				(moved || c.namespace == "" || selector.MatchNamespace(c.namespace))
		}) {
			continue
		}
		f := t.place
		i := slices.IndexFunc(all, func(c candidate) bool { return c.place != "" && c.name == t.target.Name && c.gvk.Kind == t.target.Kind })
		if i >= 0 {
			c := all[i]
			wrong := "the namespace"
			switch {
			case selector.MatchGvk(c.gvk):
			case t.target.Group == "" || t.target.Group == c.gvk.Group:
				wrong = "the version"
			default:
				wrong = "the group or the version"
			}
			f.Remedy = "correct " + wrong + " in the target: " + c.place + " contains " + c.gvk.ApiVersion() + " " +
				object.ID{Kind: c.gvk.Kind, Namespace: c.namespace, Name: c.name}.String()
		}
		found = append(found, f)
	}
	return found
}

// namespaces matches what sets the namespaces of objects during a build.
var namespaces = lazyregexp.New(`(?m)^namespace:|NamespaceTransformer`)
