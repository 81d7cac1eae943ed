package kustomize

import (
	"errors"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
)

// visitRemoteBase visits a kustomization in another repository, and returns its path for
// kustomize. Like kustomize it first tries a URL as a file, if it can be one.
func (c *checker) visitRemoteBase(field, entry string, git gitAddress) string {
	if !git.isCertain(entry) {
		content, err := c.fileAt(entry)
		switch _, parsed := object.Parse("", 1, string(content.Data)); {
		case errors.Is(err, errNotFetched):
			c.unavailable(field, entry, "the remote base "+entry, err)
			return entry
		case err == nil && parsed == nil, yamlFile(entry):
			name, _ := c.fetchFile(field, entry)
			return name
		}
	}
	if strings.HasPrefix(git.clone, "file://") {
		c.bad(field, entry, entry+" leaves the repository", "use a relative path inside the repository, or an https:// URL")
		return entry
	}
	of, content, err := c.repository(git)
	if errors.Is(err, errNotFetched) && git.usesSSH() { // a Fetcher reports this itself
		c.bad(field, entry, "the remote base "+entry+" uses SSH, which Ladder does not support",
			"use an https address, such as https://host/org/repo//dir?ref=v1")
		return entry
	}
	if err != nil {
		c.unavailable(field, entry, "the remote base "+entry, err)
		return entry
	}
	c.warn(field, entry, content)
	p := git.dir
	switch info, err := fs.Stat(of.FS, p); {
	case err != nil:
		c.bad(field, entry, missing("directory", p+" in "+of.fetched, err), "correct the path, or the ref")
		return entry
	case !info.IsDir():
		c.bad(field, entry, p+" in "+of.fetched+" is a file, not a directory", "name its directory, or the address of the file itself")
		return entry
	}
	return c.visitBase(of, field, entry, p)
}

func yamlFile(entry string) bool {
	u, err := url.Parse(entry)
	return err == nil && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(u.Path))
}

// fetchFile fetches a file next to the kustomization, and returns its name.
func (c *checker) fetchFile(field, entry string) (string, bool) {
	content, err := c.fileAt(entry)
	if err != nil {
		c.unavailable(field, entry, "the remote file "+entry, err)
		return entry, false
	}
	c.warn(field, entry, content)
	if strings.HasPrefix(field, "resources") || strings.HasPrefix(field, "bases") {
		c.checkObjects(object.Parse(entry, 1, string(content.Data)))
	}
	name := c.unusedName(c.dir, "fetched", extension.FindString(path.Ext(strings.SplitN(entry, "?", 2)[0])))
	c.overlay.Files[path.Join(c.dir, name)] = string(content.Data)
	c.changed = true
	return name, true
}

// extension matches a plausible file extension.
var extension = lazyregexp.New(`^\.[a-z]{1,8}$`)

// warn reports notes about fetched content.
func (c *checker) warn(field, entry string, content remote.Content) {
	if content.Warning != "" {
		c.assembly.findings = append(c.assembly.findings,
			c.finding(finding.Warning, field, entry, content.Warning, "make sure that it can be fetched again"))
	}
}

// unavailable reports that remote content is unavailable.
func (c *checker) unavailable(field, entry, what string, err error) {
	if errors.Is(err, errNotFetched) {
		c.bad(field, entry, what+" is not fetched", notFetchedRemedy(c.component, entry))
		return
	}
	if c.ctx.Err() != nil {
		return // reported by the caller
	}
	for _, f := range finding.Of(err) {
		original := f.Field
		if f = c.at(f, field, entry); original != "" {
			f.Field = original
		}
		c.faults = append(c.faults, f)
	}
}

// notFetchedRemedy says what to do if fetching is not allowed.
func notFetchedRemedy(component source, address string) string {
	return `vendor it with "` + component.VendorCommand(address) + `", or allow the source with --allow-remote`
}
