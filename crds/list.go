package crds

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Description describes a CRD for users.
type Description struct {
	Name     string    `json:"name"`
	Group    string    `json:"group"`
	Kind     string    `json:"kind"`
	Scope    string    `json:"scope"`
	Versions []Version `json:"versions"`
	// Size is the size of the manifest in bytes.
	Size int `json:"size"`
	// Switch is the value that enables it; empty if it is always included.
	Switch string `json:"switch,omitempty"`
	// Conversion is the Service of its conversion webhook, as namespace/name; empty
	// if there is none.
	Conversion string `json:"conversion,omitempty"`
	// Source is its file.
	Source string `json:"source"`
	// Users are the custom resources of the kind in the component.
	Users []string `json:"usedBy"`
}

// Version is a version of a CRD.
type Version struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"stored"`
}

func (v Version) String() string {
	switch {
	case !v.Served:
		return v.Name + " (not served)"
	case v.Storage:
		return v.Name + " (stored)"
	}
	return v.Name
}

// describe describes a CRD. objs are the objects of the component.
func describe(o object.Object, objs []object.Object) Description {
	spec := o.Get("spec")
	d := Description{Name: o.ID.Name, Group: spec.Get("group").Text(), Kind: spec.Get("names", "kind").Text(), Scope: spec.Get("scope").Text(),
		Size: len(o.Text()), Source: o.Place(), Users: []string{}}
	for _, v := range spec.Get("versions").Items() {
		d.Versions = append(d.Versions, Version{v.Get("name").Text(), v.Get("served").True(), v.Get("storage").True()})
	}
	if service := spec.Get("conversion", "webhook", "clientConfig", "service"); service.Exists() {
		d.Conversion = service.Get("namespace").Text() + "/" + service.Get("name").Text()
	}
	for _, u := range users(d, objs) {
		d.Users = append(d.Users, u.ID.String())
	}
	return d
}

// users returns the objects of a kind.
func users(d Description, objs []object.Object) []object.Object {
	var all []object.Object
	for _, o := range objs {
		if o.ID.Group == d.Group && o.ID.Kind == d.Kind {
			all = append(all, o)
		}
	}
	return all
}

// List describes the CRDs of a component, sorted by name. s may be nil.
func List(objs []object.Object, s *Survey) []Description {
	all := []Description{}
	for _, o := range objs {
		if !Is(o) {
			continue
		}
		d := describe(o, objs)
		if s != nil {
			d.Switch = s.switchOf(d.Name)
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Description) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// switchOf names the values that a CRD depends on.
func (s *Survey) switchOf(name string) string {
	var found []string
	for _, d := range s.crds {
		if d.Name != name {
			continue
		}
		for _, c := range d.when {
			for _, p := range c.values() {
				if !slices.Contains(found, p.String()) && s.isSwitch(RequiredValue{Path: p, Value: "true", Chart: c.text}) {
					found = append(found, p.String())
				}
			}
		}
	}
	return strings.Join(found, ", ")
}

// Compare reports what an update of CRDs removes: a CRD, a version that is removed
// or no longer served, a changed scope, or a stored version that is removed before
// its objects were rewritten. objs are the objects of the component after the
// update; those that still use a removed version are named.
func Compare(before, after []object.Object) []finding.Finding {
	var all []finding.Finding
	now := map[string]object.Object{}
	for _, o := range after {
		if Is(o) {
			now[o.ID.Name] = o
		}
	}
	for _, oldCRD := range before {
		if !Is(oldCRD) {
			continue
		}
		old := describe(oldCRD, nil)
		report := func(at object.Object, message, remedy, version string) {
			f := finding.Finding{Severity: finding.Error, Rule: "crd-update", File: at.File, Line: at.Line, Object: oldCRD.ID.String(),
				About: version, Message: message, Remedy: remedy}
			if by := usedBy(users(old, after), version); by != "" {
				f.Message += "; it is still used by " + by
			}
			all = append(all, f)
		}
		o, exists := now[oldCRD.ID.Name]
		if !exists {
			report(oldCRD, "the CRD was removed", "keep it until nothing uses it: deleting it deletes all its custom resources", "")
			continue
		}
		d := describe(o, nil)
		if cmp.Or(old.Scope, "Namespaced") != cmp.Or(d.Scope, "Namespaced") {
			report(o, "the scope changes from "+old.Scope+" to "+d.Scope+", which the API server rejects",
				"delete the CRD with all its custom resources first, or keep the scope", "")
		}
		for _, v := range old.Versions {
			switch current, exists := d.version(v.Name); {
			case v.Storage && !exists:
				report(o, "version "+v.Name+", a stored version, was removed, which the API server rejects",
					"keep it with served: false until the objects are rewritten and status.storedVersions no longer names it", v.Name)
			case v.Served && !exists:
				report(o, "version "+v.Name+" was removed", "move what uses it to "+d.stored()+" first", v.Name)
			case v.Served && !current.Served:
				report(o, "version "+v.Name+" is no longer served", "move what uses it to "+d.stored()+" first", v.Name)
			}
		}
	}
	finding.Sort(all)
	return all
}

func (d Description) version(name string) (Version, bool) {
	if i := slices.IndexFunc(d.Versions, func(v Version) bool { return v.Name == name }); i >= 0 {
		return d.Versions[i], true
	}
	return Version{}, false
}

// stored returns the storage version.
func (d Description) stored() string {
	for _, v := range d.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return "another version"
}

// usedBy names objects of a version, or of any if it is empty.
func usedBy(objs []object.Object, version string) string {
	var all []string
	for _, o := range objs {
		if _, v, _ := strings.Cut(o.APIVersion, "/"); version == "" || v == version {
			all = append(all, o.ID.String())
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
