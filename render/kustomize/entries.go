package kustomize

//lint:file-ignore SA1019 people still write the deprecated fields of kustomizations

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
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

// resolveRoots checks entries that name files or other kustomizations. They are never
// inline YAML, whatever they look like: kustomize would fetch
// http://example.com/{a}.
func (c *checker) resolveRoots(field string, entries *[]string) {
	for i, entry := range *entries {
		if _, isGenerated := c.overlay.Files[path.Join(c.dir, entry)]; !isGenerated {
			(*entries)[i] = c.resolveRoot(fmt.Sprintf("%s[%d]", field, i), entry)
		}
	}
}

// resolveRoot checks one entry, and returns the path for kustomize.
func (c *checker) resolveRoot(field, entry string) string {
	file := c.isFile(entry)
	if git, ok := readGitAddress(entry); ok && !file {
		return c.visitRemoteBase(field, entry, git)
	}
	if isWeb(entry) {
		name, _ := c.fetchFile(field, entry)
		return name
	}
	p, ok := c.resolveLocal(field, entry)
	if !ok {
		return entry
	}
	if file {
		if data, err := fs.ReadFile(c.FS, p); err != nil {
			c.faults = append(c.faults, c.Unreadable(err))
		} else {
			c.checkObjects(object.Parse(c.Show(p), 1, string(data)))
		}
		return entry
	}
	return c.visitBase(c.tree, field, entry, p)
}

// isFile reports whether an entry is a file in the tree. kustomize checks this
// first.
func (c *checker) isFile(entry string) bool {
	p, ok := input.RepoPath(c.dir, entry)
	return ok && !strings.Contains(entry, "://") && input.FileExists(c.FS, p)
}

// visitBase visits another kustomization, and returns its path for kustomize.
func (c *checker) visitBase(of *tree, field, entry, p string) string {
	if !input.FileExists(of.FS, path.Join(p, File(of.FS, p))) {
		c.bad(field, entry, "no kustomization.yaml in "+of.Show(p), "add one that lists the files there, or list the files here")
		return entry
	}
	at, p, err := c.visit(of, p, c.namespace)
	if err != nil {
		c.faults = append(c.faults, err)
	}
	c.inherits = c.inherits || at.inherits(p)
	if at == c.tree {
		return entry
	}
	c.changed = true
	return c.relativePath(c.dir, at, p)
}

// checkConfigs checks entries that name or contain configurations of generators,
// transformers and validators. These may name files of their own. Charts among them
// are removed.
func (c *checker) checkConfigs(field string, entries *[]string) {
	var texts, kept []string
	for i, entry := range *entries {
		field := fmt.Sprintf("%s[%d]", field, i)
		if !inline(entry) {
			continue
		}
		rest, charts := c.splitPluginConfig(field, entry)
		c.changed = c.changed || charts > 0
		if rest != "" {
			texts = append(texts, rest)
		}
	}
	// kustomize tries inline YAML first, too.
	for i, entry := range *entries {
		field := fmt.Sprintf("%s[%d]", field, i)
		if inline(entry) {
			continue
		}
		if !c.isFile(entry) {
			kept = append(kept, c.resolveRoot(field, entry))
			continue
		}
		p, ok := c.resolveLocal(field, entry)
		if !ok {
			continue
		}
		data, err := fs.ReadFile(c.FS, p)
		if err != nil {
			c.faults = append(c.faults, c.Unreadable(err))
			continue
		}
		rest, charts := c.splitPluginConfig(field, string(data))
		if charts > 0 {
			c.changed = true
			if rest == "" {
				continue
			}
			entry = c.unusedName(c.dir, "plugins", ".yaml")
			c.overlay.Files[path.Join(c.dir, entry)] = rest
		}
		kept = append(kept, entry)
	}
	*entries = append(texts, kept...)
}

// checkEntry checks an entry that is the path of a file or inline YAML. It fetches URLs.
func (c *checker) checkEntry(field string, checkEntry *string) {
	switch {
	case *checkEntry == "" || inline(*checkEntry):
	case isWeb(*checkEntry):
		*checkEntry, _ = c.fetchFile(field, *checkEntry)
	default:
		c.resolveLocal(field, *checkEntry)
	}
}

// checkFiles checks a list of entries that name files.
func (c *checker) checkFiles(field string, entries []string) {
	for i := range entries {
		c.checkEntry(fmt.Sprintf("%s[%d]", field, i), &entries[i])
	}
}

// checkPatch checks an inline patch.
func (c *checker) checkPatch(field, text string) {
	// kustomize uses two YAML libraries; report only what both refuse.
	err := yaml.Unmarshal([]byte(text), new(any))
	if err == nil || yamlv3.Unmarshal([]byte(text), new(yamlv3.Node)) == nil {
		return
	}
	_, message := object.SyntaxError(input.Innermost(err))
	c.bad(field, "", "the patch is not valid YAML: "+message, "correct the patch")
}

// checkGenerator checks a generator of ConfigMaps or Secrets, and its files.
func (c *checker) checkGenerator(field string, g *types.GeneratorArgs) {
	if g.Name == "" {
		c.bad(field, "", "the generator has no name", "set its \"name\"")
	}
	if g.Behavior != "" && types.NewGenerationBehavior(g.Behavior) == types.BehaviorUnspecified {
		c.findings = append(c.findings, c.finding(finding.Warning, field+".behavior", "",
			fmt.Sprintf("kustomize ignores the unknown behavior %q", g.Behavior), "write create, merge or replace"))
	}
	for i, spec := range g.FileSources {
		key, file, named := strings.Cut(spec, "=")
		if !named {
			key, file = path.Base(spec), spec
		}
		if !isWeb(file) {
			c.checkEntry(fmt.Sprintf("%s.files[%d]", field, i), &file)
			continue
		}
		if name, ok := c.fetchFile(fmt.Sprintf("%s.files[%d]", field, i), file); ok {
			g.FileSources[i] = key + "=" + name
		}
	}
	c.checkFiles(field+".envs", g.EnvSources)
	for i, literal := range g.LiteralSources {
		if literal != "" && strings.IndexByte(literal, '=') <= 0 { // empty is one of the wrong type
			c.bad(fmt.Sprintf("%s.literals[%d]", field, i), "", "a literal is not key=value", "write key=value")
		}
	}
	c.checkEntry(field+".env", &g.EnvSource)
}

// resolveLocal resolves an entry inside the repository, and reports it if that fails.
func (c *checker) resolveLocal(field, entry string) (string, bool) {
	p, ok := input.RepoPath(c.dir, entry)
	switch {
	case ok && irregular(c.FS, p):
		c.bad(field, entry, c.Show(p)+" is a pipe, a socket or a device, not a regular file", "name a file or a directory")
	case ok && !strings.Contains(entry, "://") && input.Exists(c.FS, p):
		if isFile := input.FileExists(c.FS, p); isFile && !c.component.opt.Unrestricted && !strings.HasPrefix(p, input.Prefix(c.dir)) {
			c.bad(field, entry, "kustomize does not read files outside the kustomization's directory",
				"move "+c.Show(p)+" below "+c.Show(c.dir)+", or refer to a directory that has its own kustomization")
			return "", false
		}
		return p, true
	case schemeless(entry):
		c.bad(field, entry, "kustomize reads "+entry+" as a path, which does not exist", "write https:// in front of the address of a repository")
	case !ok || strings.HasPrefix(entry, "/"):
		c.bad(field, entry, entry+" leaves the repository", "use a relative path inside the repository")
	default:
		_, err := fs.Stat(c.FS, p)
		c.bad(field, entry, missing("file or directory", c.Show(p), err), "correct the path, or add the file")
	}
	return "", false
}

// splitPluginConfig checks the configuration of generators and transformers, which may
// name files of their own. It renders the charts among them, and returns the rest
// and their number.
func (c *checker) splitPluginConfig(field, text string) (rest string, charts int) {
	var others []string
	for _, doc := range strings.Split(text, "\n---") {
		var config any
		if yaml.Unmarshal([]byte(doc), &config) != nil {
			others = append(others, doc)
			continue // kustomize reports the problem
		}
		if m, ok := config.(map[string]any); ok && m["kind"] == "HelmChartInflationGenerator" && m["apiVersion"] == "builtin" {
			var in inflation
			if err := yaml.Unmarshal([]byte(doc), &in); err != nil {
				c.bad(field, "HelmChartInflationGenerator", strings.TrimPrefix(input.Innermost(err).Error(), "json: "), "correct the generator")
			} else {
				c.inflations = append(c.inflations, fieldInflation{field, in})
			}
			charts++
			continue
		}
		c.reportURLs(field, config, false)
		if config != nil {
			others = append(others, doc)
		}
	}
	return strings.Join(others, "\n---"), charts
}

// reportURLs reports URLs in fields that plugins use for files.
func (c *checker) reportURLs(field string, config any, file bool) {
	switch v := config.(type) {
	case map[string]any:
		for key, inner := range v {
			c.reportURLs(field, inner, slices.Contains([]string{"path", "paths", "files", "env", "envs"}, key))
		}
	case []any:
		for _, inner := range v {
			c.reportURLs(field, inner, file)
		}
	case string:
		if file && strings.Contains(v, "://") {
			c.bad(field, v, "the remote file "+v+" is not fetched: Ladder fetches no files for generators and transformers",
				"copy it into the repository, and refer to the copy instead")
		}
	}
}

// inline reports whether an entry is YAML, and not a path or a URL with a brace.
func inline(entry string) bool {
	u, err := url.Parse(entry)
	return strings.ContainsAny(entry, "\n{") && (err != nil || u.Scheme != "http" && u.Scheme != "https")
}

func irregular(fsys fs.FS, p string) bool {
	info, err := fs.Stat(fsys, p)
	return err == nil && !info.IsDir() && !info.Mode().IsRegular()
}

// schemeless reports whether a missing path may be the URL of a repository without
// a scheme.
func schemeless(entry string) bool {
	if strings.HasPrefix(entry, "git::") || strings.Contains(entry, "?ref=") {
		return true
	}
	host, rest, ok := strings.Cut(entry, "/")
	return ok && rest != "" && strings.Contains(strings.Trim(host, "."), ".")
}

// missing says why a path is unavailable: it does not exist, or a symlink leads
// outside.
func missing(what, name string, err error) string {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return what + " " + name + " not found"
	}
	return name + ": " + input.Cause(err)
}
