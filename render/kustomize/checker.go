package kustomize

//lint:file-ignore SA1019 people still write the deprecated fields of kustomizations

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
)

// prepare reads a kustomization and those below it, and reports every path that is
// missing or outside the repository, and every remote source that cannot be
// fetched. kustomize itself stops at the first, and tries to clone a missing file.
// It replaces what kustomize must not see: remote sources by fetched content, and
// charts by their rendering.
func (a *assembly) prepare(t *tree, dir, namespace string) (inherits bool, err error) {
	c, err := a.checker(t, dir)
	if err != nil {
		return false, t.Unreadable(err)
	}
	c.namespace = namespace
	k, faults := c.decode()
	c.faults = append(c.faults, faults...)
	c.recordDuplicateKeys()
	c.recordDeprecated(k)
	if k.Namespace != "" {
		c.namespace = k.Namespace
	}
	if t.first != "" && dir == t.Dir {
		c.prepend(&k, t.first)
		t.first = ""
	}
	c.resolveRoots("resources", &k.Resources)
	c.resolveRoots("bases", &k.Bases)
	c.resolveRoots("components", &k.Components)
	c.checkConfigs("generators", &k.Generators)
	c.checkConfigs("transformers", &k.Transformers)
	c.checkConfigs("validators", &k.Validators)
	c.checkFiles("crds", k.Crds)
	c.checkFiles("configurations", k.Configurations)
	for i := range k.Patches {
		c.checkEntry(fmt.Sprintf("patches[%d].path", i), &k.Patches[i].Path)
		c.checkPatch(fmt.Sprintf("patches[%d].patch", i), k.Patches[i].Patch)
		c.recordTarget(k, fmt.Sprintf("patches[%d].target", i), k.Patches[i].Target)
	}
	for i := range k.PatchesJson6902 {
		c.checkEntry(fmt.Sprintf("patchesJson6902[%d].path", i), &k.PatchesJson6902[i].Path)
		c.checkPatch(fmt.Sprintf("patchesJson6902[%d].patch", i), k.PatchesJson6902[i].Patch)
		c.recordTarget(k, fmt.Sprintf("patchesJson6902[%d].target", i), k.PatchesJson6902[i].Target)
	}
	for i := range k.PatchesStrategicMerge {
		c.checkEntry(fmt.Sprintf("patchesStrategicMerge[%d]", i), (*string)(&k.PatchesStrategicMerge[i]))
	}
	for i := range k.Replacements {
		c.checkEntry(fmt.Sprintf("replacements[%d].path", i), &k.Replacements[i].Path)
		for j, t := range k.Replacements[i].Targets {
			if t != nil {
				c.recordTarget(k, fmt.Sprintf("replacements[%d].targets[%d].select", i, j), t.Select)
			}
		}
	}
	if schema := k.OpenAPI["path"]; schema != "" {
		c.checkEntry("openapi.path", &schema)
		k.OpenAPI["path"] = schema
	}
	for i := range k.ConfigMapGenerator {
		c.checkGenerator(fmt.Sprintf("configMapGenerator[%d]", i), &k.ConfigMapGenerator[i].GeneratorArgs)
	}
	for i := range k.SecretGenerator {
		c.checkGenerator(fmt.Sprintf("secretGenerator[%d]", i), &k.SecretGenerator[i].GeneratorArgs)
	}
	c.renderCharts(&k)
	if c.changed {
		text, err := yaml.Marshal(k)
		if err != nil {
			return false, err
		}
		t.overlay.Files[c.file] = string(text)
	}
	return c.inherits && k.Namespace == "", errors.Join(c.faults...)
}

// recordDeprecated reports the deprecated fields of a kustomization. kustomize itself logs
// them without the file, each time it builds the kustomization (kustomize,
// api/types/kustomization.go, CheckDeprecatedFields).
func (c *checker) recordDeprecated(k types.Kustomization) {
	const fix, fixVars = "kustomize edit fix converts the file",
		"kustomize edit fix --vars converts them; commit the files first, since it may change the output"
	for _, f := range []struct {
		name, instead, fix string
		used               bool
	}{
		{"bases", "resources", fix, len(k.Bases) > 0},
		{"commonLabels", "labels", fix, len(k.CommonLabels) > 0},
		{"imageTags", "images", fix, len(k.ImageTags) > 0},
		{"patchesJson6902", "patches", fix, len(k.PatchesJson6902) > 0},
		{"patchesStrategicMerge", "patches", fix, len(k.PatchesStrategicMerge) > 0},
		{"vars", "replacements", fixVars, len(k.Vars) > 0},
	} {
		if f.used {
			c.findings = append(c.findings, finding.Finding{Severity: finding.Note, Rule: finding.BadKustomization, File: c.Show(c.file),
				Line: lineOfEntry(c.written, f.name+":"), Field: f.name,
				Message: "kustomize deprecates this field", Remedy: "use " + f.instead + "; " + f.fix})
		}
	}
}

// checker checks one kustomization file and resolves its references.
type checker struct {
	*assembly
	*tree
	dir, file string
	data      []byte
	// written is the content before edits, with the lines that users see.
	written []byte
	// namespace is the default namespace of charts.
	namespace string
	// inherits means that a chart here or below uses that namespace.
	inherits bool
	// changed means that kustomize must see a text other than data.
	changed bool
	// inflations are the charts of generators.
	inflations []fieldInflation
	faults     []error
}

// checker returns the checker of the kustomization in a directory.
func (a *assembly) checker(t *tree, dir string) (c *checker, err error) {
	c = &checker{assembly: a, tree: t, dir: dir, file: path.Join(dir, File(t.FS, dir))}
	c.data, err = fs.ReadFile(t.FS, c.file)
	c.written = c.data
	if edited, ok := t.FS.(editedFS); ok && edited.name == c.file {
		c.written = edited.original
	}
	return c, err
}

func (c *checker) bad(field, entry, message, remedy string) {
	c.faults = append(c.faults, c.finding(finding.Error, field, entry, message, remedy))
}

func (c *checker) finding(severity finding.Severity, field, entry, message, remedy string) finding.Finding {
	f := finding.Finding{Severity: severity, Rule: finding.BadKustomization, Message: message, Remedy: remedy}
	return c.at(f, field, entry)
}

// at sets the place of a finding to an entry of the kustomization, or to the
// parameter that added the entry.
func (c *checker) at(f finding.Finding, field, entry string) finding.Finding {
	name, _, _ := strings.Cut(field, "[")
	if strings.Contains(field, "[") && !bytes.Equal(c.written, c.data) && (name == "components" || name == "patches") {
		entries, _, _ := strings.Cut(field, "]")
		if input.LineOf(c.written, fieldSteps(entries)) == 0 {
			f.Field = "parameter " + name
			return f
		}
	}
	f.File, f.Line, f.Field = c.Show(c.file), input.LineOf(c.written, fieldSteps(field)), field
	if f.Line == 0 {
		f.Line = lineOfEntry(c.written, entry)
	}
	return f
}

// lineOfEntry returns the line that contains a path.
func lineOfEntry(data []byte, entry string) int {
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if entry != "" && strings.Contains(line, entry) {
			return n
		}
	}
	return 0
}

// prepend adds a text as the first resource.
func (c *checker) prepend(k *types.Kustomization, text string) {
	name := c.unusedName(c.dir, "chart", ".yaml")
	c.overlay.Files[path.Join(c.dir, name)] = text
	k.Resources = append([]string{name}, k.Resources...)
	c.changed = true
}

// checkObjects reports invalid YAML in a resource, with lines, which kustomize does not
// provide. It records duplicate keys, most of which kustomize refuses. Other problems are not
// reported here, because a patch may correct them.
func (c *checker) checkObjects(objs []object.Object, err error) {
	for _, f := range finding.Of(err) {
		switch f.Rule {
		case object.InvalidYAML:
			c.faults = append(c.faults, f)
		case object.DuplicateKey:
			c.duplicateKeys = append(c.duplicateKeys, f)
		}
	}
	for _, o := range objs {
		for _, f := range o.Warnings() {
			if f.Rule == object.DuplicateKey {
				f.Message = "kustomize rejects a mapping with duplicate keys: " + f.About
				c.duplicateKeys = append(c.duplicateKeys, f)
			}
		}
	}
}

// recordDuplicateKeys records duplicate keys of the kustomization itself, where kustomize
// uses the last.
func (c *checker) recordDuplicateKeys() {
	var doc yamlv3.Node
	if yamlv3.Unmarshal(c.written, &doc) != nil || len(doc.Content) == 0 {
		return // reported by decode
	}
	for _, k := range object.ValueOf(doc.Content[0]).DuplicateKeys() {
		c.findings = append(c.findings, finding.Finding{Severity: finding.Warning, Rule: object.DuplicateKey,
			File: c.Show(c.file), Line: k.Lines[1], Field: strings.TrimPrefix(k.Path+"."+k.Key, "."),
			Message: fmt.Sprintf("key %s is on lines %d and %d, and kustomize uses only the last value", k.Key, k.Lines[0],
				k.Lines[1]), Remedy: "keep one of the two"})
	}
}

// refusedDuplicates returns duplicate keys as errors, as kustomize cannot write an object
// that contains them.
func (a *assembly) refusedDuplicates() []finding.Finding {
	all := slices.Clone(a.duplicateKeys)
	for i := range all {
		all[i].Severity = finding.Error
	}
	return all
}

// acceptedDuplicates returns duplicate keys that kustomize accepts: it merges annotations, and
// it never writes what a patch removes.
func (a *assembly) acceptedDuplicates() []finding.Finding {
	all := slices.Clone(a.duplicateKeys)
	for i := range all {
		all[i].Severity, all[i].Message = finding.Warning,
			"duplicate key: kustomize accepts it, but other tools may reject the file or ignore one of the two"
	}
	return all
}
