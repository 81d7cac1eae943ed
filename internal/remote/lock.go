package remote

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// LockFile is the name of the lock file in a component's directory; VendorDir, next
// to it, contains the vendored files.
const (
	LockFile  = "ladder.lock"
	VendorDir = ".ladder"
)

// Lock lists the resolved Refs of a component, with their files.
type Lock struct {
	// Entries are sorted by file.
	Entries []Entry
}

// Entry is an entry of a lock. Its URL contains no credentials.
type Entry struct {
	Ref
	// Resolved is the resolved version, like Content.Version.
	Resolved string
	// Digest is the digest of the file.
	Digest string
	// File is the path of the content, relative to the component's directory.
	File string
	// Line is the line of the entry in its file; 0 for a new one.
	Line int

	// urlDigest distinguishes URLs that are equal without credentials.
	urlDigest string
}

// lockText is the file format of a lock.
type lockText struct {
	Entries []entryText `yaml:"entries"`
}

type entryText struct {
	Kind      string `yaml:"kind"`
	URL       string `yaml:"url"`
	URLDigest string `yaml:"urlDigest,omitempty"`
	Chart     string `yaml:"chart,omitempty"`
	Version   string `yaml:"version,omitempty"`
	Resolved  string `yaml:"resolved,omitempty"`
	Digest    string `yaml:"digest"`
	File      string `yaml:"file"`
}

// NewEntry records the content of a Ref, under a readable file name.
func NewEntry(ref Ref, c Content) Entry {
	e := Entry{Ref: ref, Resolved: c.Version, Digest: c.Digest}
	e.URL, e.urlDigest = withoutCredentials(ref.URL)
	name, dir, ext := path.Base(addressPath(e.URL)), "files", ""
	switch ref.Kind {
	case Chart:
		name, dir, ext = ref.Chart+"-"+c.Version, "charts", ".tgz"
	case Repository:
		name, dir, ext = strings.TrimSuffix(name, ".git")+"-"+c.Version[:min(len(c.Version), 12)], "git", ".tgz"
	default:
		ext = path.Ext(name)
		name = strings.TrimSuffix(name, ext)
	}
	digest := strings.TrimPrefix(c.Digest, "sha256:")
	e.File = path.Join(VendorDir, dir, plainName(name)+"-"+digest[:min(len(digest), 12)])
	if ext = plainName(ext); ext != "" {
		e.File += "." + ext
	}
	return e
}

// unplain matches characters to replace in file names.
var unplain = lazyregexp.New(`[^A-Za-z0-9._+-]+`)

// plainName returns a name that is valid on every file system.
func plainName(s string) string {
	return strings.Trim(unplain.ReplaceAllString(s, "-"), "-.")
}

// addressPath returns a URL without its query.
func addressPath(url string) string {
	url, _, _ = strings.Cut(url, "?")
	url, _, _ = strings.Cut(url, "#")
	return strings.TrimRight(url, "/")
}

// userOf matches the user before the host of a URL.
var userOf = lazyregexp.New(`^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*@`)

// withoutCredentials returns a URL for a lock. If values of its query are removed,
// which may distinguish two URLs, the digest of the URL without its user is
// returned, too: it reveals nothing, since the component contains the URL.
func withoutCredentials(url string) (shown, digest string) {
	url = userOf.ReplaceAllString(url, "$1")
	if shown = finding.WithoutCredentials(url); shown != url {
		digest = Digest([]byte(url))
	}
	return shown, digest
}

// Find returns the entry for a Ref.
func (l Lock) Find(ref Ref) (Entry, bool) {
	requested := Entry{Ref: ref}
	requested.URL, requested.urlDigest = withoutCredentials(ref.URL)
	return l.first(requested.sameRef)
}

// Has returns the entry for the Ref of an entry of another lock.
func (l Lock) Has(e Entry) (Entry, bool) { return l.first(e.sameRef) }

func (l Lock) first(is func(Entry) bool) (Entry, bool) {
	if i := slices.IndexFunc(l.Entries, is); i >= 0 {
		return l.Entries[i], true
	}
	return Entry{}, false
}

func (e Entry) sameRef(other Entry) bool { return e.Ref == other.Ref && e.urlDigest == other.urlDigest }

// sameThing is sameRef ignoring the version.
func (e Entry) sameThing(other Entry) bool {
	e.Version = other.Version
	return e.sameRef(other)
}

// near returns an entry for the same source in another version.
func (l Lock) near(ref Ref) (Entry, bool) {
	requested := Entry{Ref: ref}
	requested.URL, requested.urlDigest = withoutCredentials(ref.URL)
	return l.first(requested.sameThing)
}

// Name returns the name of an entry for users: the chart, or the last part of the
// URL.
func (e Entry) Name() string {
	if e.Chart != "" {
		return e.Chart
	}
	return strings.TrimSuffix(path.Base(addressPath(e.URL)), ".git")
}

const lockHead = "# What the component needs and this repository would not hold: the files below\n# " + VendorDir +
	"/, and where they are from. Written by cmp vendor.\n"

// Text encodes the lock, with its entries sorted.
func (l Lock) Text() ([]byte, error) {
	text := lockText{Entries: []entryText{}}
	for _, e := range l.sorted() {
		text.Entries = append(text.Entries, entryText{string(e.Kind), e.URL, e.urlDigest, e.Chart, e.Version, e.Resolved, e.Digest, e.File})
	}
	var b bytes.Buffer
	b.WriteString(lockHead)
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := errors.Join(enc.Encode(text), enc.Close())
	return b.Bytes(), err
}

func (l Lock) sorted() []Entry {
	return slices.SortedFunc(slices.Values(l.Entries), func(x, y Entry) int {
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.URL, y.URL), cmp.Compare(x.urlDigest, y.urlDigest),
			cmp.Compare(x.Chart, y.Chart), cmp.Compare(x.Version, y.Version))
	})
}

const badLock finding.Rule = "bad-lock"

// kinds are the kinds of Refs in a lock.
var kinds = []string{string(Chart), string(File), string(Repository)}

var digestForm = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)

// ParseLock parses a lock strictly. name is the name of the file in messages. The
// error joins all findings.
func ParseLock(name string, text []byte) (Lock, error) {
	f := settings.File{Name: name, Rule: badLock, Description: "the lock file of vendored sources"}
	if line := conflict(text); line > 0 {
		return Lock{}, f.Fault(line, "", "merge conflict", "take the lock of one of the two sides, and run cmp vendor")
	}
	root, err := f.Parse(text)
	if root == nil || err != nil {
		return Lock{}, err
	}
	if line := foreign(root); line > 0 {
		return Lock{}, f.Fault(line, "", "alias, merge key or tag, which cmp vendor never writes", regenerate)
	}
	faults := f.Check(root, lockText{}, map[string][]string{"kind": kinds})
	var read lockText
	if err := root.Decode(&read); err != nil {
		if faults == nil {
			faults = []error{f.Fault(root.Line, "", err.Error(), regenerate)}
		}
		return Lock{}, errors.Join(faults...)
	}
	lines := entryLines(root)
	var l Lock
	for i, t := range read.Entries {
		e := Entry{Ref: Ref{Kind: Kind(t.Kind), URL: t.URL, Chart: t.Chart, Version: t.Version}, Resolved: t.Resolved,
			Digest: t.Digest, File: t.File, Line: lines[i], urlDigest: t.URLDigest}
		for _, wrong := range e.wrong() {
			faults = append(faults, f.Fault(e.Line, fmt.Sprintf("entries[%d].%s", i, wrong.key), wrong.message, regenerate))
		}
		if at := slices.IndexFunc(l.Entries, e.sameRef); at >= 0 {
			faults = append(faults, f.Fault(e.Line, fmt.Sprintf("entries[%d]", i),
				fmt.Sprintf("%s is already locked on line %d", e.Ref, l.Entries[at].Line), "keep one of the two"))
		}
		l.Entries = append(l.Entries, e)
	}
	return l, errors.Join(faults...)
}

// conflict returns the line of the first git conflict marker; 0 if there is none.
func conflict(text []byte) int {
	line := 0
	for l := range bytes.Lines(text) {
		if line++; bytes.HasPrefix(l, []byte("<<<<<<< ")) {
			return line
		}
	}
	return 0
}

// foreign returns the first line with an alias, a tag or similar syntax, where
// entries could be hidden from readers.
func foreign(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode || n.Tag == "!!merge" || n.Style&yaml.TaggedStyle != 0 {
		return n.Line
	}
	for _, part := range n.Content {
		if line := foreign(part); line > 0 {
			return line
		}
	}
	return 0
}

// regenerate is the remedy for an edited or merged lock.
const regenerate = "delete the file, and let cmp vendor write it again"

func entryLines(root *yaml.Node) []int {
	var lines []int
	for i := 0; i+1 < len(root.Content); i += 2 {
		if value := root.Content[i+1]; root.Content[i].Value == reflect.TypeFor[lockText]().Field(0).Tag.Get("yaml") {
			for _, item := range value.Content {
				lines = append(lines, item.Line)
			}
		}
	}
	return lines
}

// wrongKey is a problem with a key of an entry.
type wrongKey struct{ key, message string }

func (e Entry) wrong() []wrongKey {
	var all []wrongKey
	if e.Kind == "" {
		all = append(all, wrongKey{"kind", "is missing"})
	}
	if e.URL == "" {
		all = append(all, wrongKey{"url", "is missing"})
	}
	if (e.Kind == Chart) != (e.Chart != "") {
		all = append(all, wrongKey{"chart", "only charts have a name"})
	}
	if !digestForm.MatchString(e.Digest) {
		all = append(all, wrongKey{"digest", "not a digest such as sha256:0123..."})
	}
	if path.Clean(e.File) != e.File || !strings.HasPrefix(e.File, VendorDir+"/") {
		all = append(all, wrongKey{"file", "not a path below " + VendorDir + "/"})
	}
	return all
}
