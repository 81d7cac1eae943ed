package fetch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	lru "github.com/hashicorp/golang-lru/v2"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
)

// index is the part of a repository index about one chart.
type index struct {
	host     string
	versions []listedVersion
	hasChart bool // whether the index contains the chart
	cached   bool // whether it comes from the cache
}

// choose returns the version that Helm would choose.
func (i index) choose(ref remote.Ref) (listedVersion, error) {
	none := listedVersion{}
	if !i.hasChart {
		return none, failed(missing, "correct the name or the repository", "the index of %s has no chart %s", i.host, ref.Chart)
	}
	all := slices.DeleteFunc(slices.Clone(i.versions), func(v listedVersion) bool { return v.Version == "" })
	if len(all) == 0 {
		return none, failed(missing, "correct the name or the repository", "the index of %s has no version of %s", i.host, ref.Chart)
	}
	slices.SortStableFunc(all, func(a, b listedVersion) int { return newestFirst(a.Version, b.Version) })
	var versions []string
	for _, v := range all {
		versions = append(versions, v.Version)
	}
	if _, err := semver.NewConstraint(cmp.Or(ref.Version, "*")); err != nil {
		return none, failed(badRef, "write a version such as 1.2.3 or a range such as ^1.2", "%q is neither a version nor a range", ref.Version)
	}
	chosen := bestVersion(versions, ref.Version)
	if chosen < 0 {
		return none, failed(missing, "use an existing version", "the index of %s has no version of %s that fits; it has %s",
			i.host, ref.Chart, newestVersions(versions))
	}
	return all[chosen], nil
}

// index returns the part of the repository's index about the attempt's chart. It
// may use a cached index, since components often use several charts of one
// repository.
func (e *attempt) index(useCached bool) (index, error) {
	address, err := resolveURL(e.ref.URL, "index.yaml")
	if err != nil {
		return index{}, failed(badRef, "correct the address", "%s is not a URL", e.ref.URL)
	}
	data, found := e.backend.index(address)
	found = found && useCached
	if !found {
		if data, err = e.get(address); err != nil {
			return index{}, err
		}
	}
	i, err := readIndex(data, e.ref.Chart)
	var why *failure
	switch {
	case errors.As(err, &why):
		why.message = "the index of " + e.host() + " " + why.message
		return index{}, why
	case err != nil:
		_, message := object.SyntaxError(err)
		return index{}, failed(broken, "check the URL: its index.yaml must be the index of a chart repository",
			"the index of %s cannot be read (%s): %s", e.host(), describeFormat(data), short(message))
	}
	if !found {
		e.backend.keepIndex(address, data)
	}
	i.host, i.cached = e.host(), found
	return i, nil
}

// The limits for reading an index. The largest public ones contain some thousand
// versions of a chart, with some kilobytes each.
const (
	maxVersions   = 50_000
	maxEntryBytes = 16 << 20
)

// listedVersion is a version of a chart in an index.
type listedVersion struct {
	Name    string   `json:"name" yaml:"name"`
	Version string   `json:"version" yaml:"version"`
	Digest  string   `json:"digest" yaml:"digest"`
	URLs    []string `json:"urls" yaml:"urls"`
}

func (i *index) add(v listedVersion) error {
	if len(i.versions) >= maxVersions {
		return failed(tooLarge, "contact its administrator to remove old ones", "has more than %d versions of one chart", maxVersions)
	}
	i.versions = append(i.versions, v)
	return nil
}

// readIndex parses the part of an index about one chart. It skips the rest without
// decoding it: an index contains tens of thousands of versions, and a malicious one
// could use all memory of the decoder.
func readIndex(data []byte, chart string) (index, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if json.Valid(data) {
		return readJSONIndex(data, chart)
	}
	part, err := cutIndex(data, chart)
	if errors.Is(err, errOtherStyle) {
		return readWholeIndex(data, chart)
	}
	if err != nil || part == nil {
		return index{}, err
	}
	return readEntries(part, chart)
}

var (
	errNoVersion    = errors.New("it has no apiVersion")
	errDuplicateKey = errors.New("it has the same key twice")
)

// skippedValue skips a JSON value.
type skippedValue struct{}

func (*skippedValue) UnmarshalJSON([]byte) error { return nil }

func readJSONIndex(data []byte, chart string) (index, error) {
	var i index
	version, seen := "", false
	err := eachKey(json.NewDecoder(bytes.NewReader(data)), func(from *json.Decoder, key string) error {
		switch key {
		case "apiVersion":
			return from.Decode(&version)
		case "entries":
			if seen {
				return errDuplicateKey
			}
			seen = true
			return eachKey(from, func(from *json.Decoder, key string) error {
				if key != chart {
					return from.Decode(&skippedValue{})
				}
				if i.hasChart {
					return errDuplicateKey
				}
				i.hasChart = true
				return i.readVersions(from)
			})
		}
		return from.Decode(&skippedValue{})
	})
	if err == nil && version == "" {
		err = errNoVersion
	}
	return i, err
}

// eachKey iterates over a JSON object; take consumes the value of each key.
func eachKey(from *json.Decoder, take func(from *json.Decoder, key string) error) error {
	if open, err := from.Token(); err != nil || open != json.Delim('{') {
		if open == nil && err == nil {
			return nil // null
		}
		return errors.Join(err, errors.New("expected an object"))
	}
	for from.More() {
		key, err := from.Token()
		if err != nil {
			return err
		}
		if err := take(from, fmt.Sprint(key)); err != nil {
			return err
		}
	}
	_, err := from.Token()
	return err
}

func (i *index) readVersions(from *json.Decoder) error {
	if open, err := from.Token(); err != nil || open != json.Delim('[') {
		return errors.Join(err, errors.New("the versions of the chart are not a list"))
	}
	for from.More() {
		var v listedVersion
		if err := from.Decode(&v); err != nil {
			return err
		}
		if err := i.add(v); err != nil {
			return err
		}
	}
	_, err := from.Token()
	return err
}

// errOtherStyle means that an index is not in Helm's YAML style.
var errOtherStyle = errors.New("it is not in block style")

// indexKey matches a line with a key of a mapping in block style, and its value.
var indexKey = lazyregexp.New(`^ *(?:"([^"\\]*)"|'([^']*)'|([A-Za-z0-9_./+-]+)) *:(?:[ \t]+(.*))?$`)

// cutIndex returns the lines of a YAML index about one chart; nil if there are
// none. It searches lines instead of parsing YAML, so other charts cost almost
// nothing.
func cutIndex(data []byte, chart string) ([]byte, error) {
	c := indexCutter{chart: chart}
	for at := 0; at < len(data) && !c.done; {
		end := len(data)
		if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		if err := c.line(bytes.TrimRight(data[at:end], "\r\n"), at); err != nil {
			return nil, err
		}
		at = end
	}
	if c.from >= 0 && c.found && c.to == 0 {
		c.to = len(data)
		if c.done {
			c.to = c.last
		}
	}
	switch {
	case c.version == "":
		return nil, errNoVersion
	case !c.found:
		return nil, nil
	case c.to-c.from > maxEntryBytes:
		return nil, failed(tooLarge, "contact its administrator to remove old versions",
			"has %d bytes about one chart; the limit is %d", c.to-c.from, maxEntryBytes)
	}
	return data[c.from:c.to], nil
}

// indexCutter iterates over the lines of an index.
type indexCutter struct {
	chart   string
	version string // apiVersion
	top     string // the current top-level key
	entries bool   // whether the entries were found
	indent  int    // of the charts
	started bool   // whether the document has started
	done    bool   // whether it has ended, before last
	last    int
	found   bool
	from    int // the first line of the chart
	to      int
}

func (c *indexCutter) line(line []byte, at int) error {
	text := bytes.TrimLeft(line, " ")
	indent := len(line) - len(text)
	switch {
	case len(text) == 0 || text[0] == '#':
		return nil
	case indent == 0 && (bytes.HasPrefix(line, []byte("---")) || bytes.Equal(line, []byte("..."))):
		if c.started {
			c.done, c.last = true, at
		} else if len(bytes.TrimSpace(line)) > len("---") {
			return errOtherStyle
		}
		return nil
	case indent == 0 && text[0] == '%' && !c.started:
		return nil
	case indent == 0:
		c.started = true
		return c.topLine(line, at)
	case c.top != "entries":
		return nil
	}
	if c.indent == 0 {
		c.indent = indent
	}
	switch {
	case indent > c.indent, indent == c.indent && text[0] == '-':
		return nil // of the previous chart
	case indent < c.indent:
		return errOtherStyle
	}
	key, _, ok := keyOf(line)
	if !ok {
		return errOtherStyle
	}
	c.close(at)
	if key == c.chart {
		if c.found {
			return errDuplicateKey
		}
		c.found, c.from = true, at
	}
	return nil
}

// topLine reads a line without indentation.
func (c *indexCutter) topLine(line []byte, at int) error {
	if line[0] == '-' && c.top != "" && c.top != "entries" {
		return nil // a list in block style may have the indentation of its key
	}
	key, rest, ok := keyOf(line)
	if !ok {
		return errOtherStyle
	}
	c.close(at)
	c.top = key
	switch key {
	case "apiVersion":
		c.version = strings.Trim(rest, `"' `)
	case "entries":
		if c.entries {
			return errDuplicateKey
		}
		c.entries = true
		if rest != "" && !strings.HasPrefix(rest, "#") {
			return errOtherStyle
		}
	}
	return nil
}

// close ends the lines of the chart.
func (c *indexCutter) close(at int) {
	if c.found && c.to == 0 {
		c.to = at
	}
}

func keyOf(line []byte) (key, rest string, ok bool) {
	m := indexKey.FindSubmatch(line)
	if m == nil {
		return "", "", false
	}
	return string(m[1]) + string(m[2]) + string(m[3]), strings.TrimSpace(string(m[4])), true
}

// readEntries parses the lines about a chart.
func readEntries(text []byte, chart string) (index, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return index{}, err
	}
	if len(root.Content) != 1 {
		return index{}, errors.New("the versions of the chart are not a list")
	}
	return readEntry(root.Content[0], chart)
}

// readWholeIndex parses an index in another YAML style.
func readWholeIndex(data []byte, chart string) (index, error) {
	if len(data) > maxEntryBytes {
		return index{}, failed(tooLarge, "ask its administrator to write it as helm repo index does",
			"is %d bytes and not in block style; the limit for such a file is %d", len(data), maxEntryBytes)
	}
	var root struct {
		APIVersion string    `yaml:"apiVersion"`
		Entries    yaml.Node `yaml:"entries"`
	}
	if err := yaml.Unmarshal(data, &root); err != nil {
		return index{}, err
	}
	if root.APIVersion == "" {
		return index{}, errNoVersion
	}
	return readEntry(&root.Entries, chart)
}

// readEntry parses the versions of a chart.
func readEntry(entries *yaml.Node, chart string) (index, error) {
	var i index
	if entries.Kind == yaml.AliasNode {
		return i, aliased()
	}
	for at := 0; entries.Kind == yaml.MappingNode && at+1 < len(entries.Content); at += 2 {
		key, value := entries.Content[at], entries.Content[at+1]
		if key.Value != chart {
			continue
		}
		if i.hasChart {
			return i, errDuplicateKey
		}
		i.hasChart = true
		if hasAlias(value) {
			return i, aliased()
		}
		if value.Kind != yaml.SequenceNode && value.Tag != "!!null" {
			return i, errors.New("the versions of the chart are not a list")
		}
		for _, one := range value.Content {
			var v listedVersion
			if err := one.Decode(&v); err != nil {
				return i, err
			}
			if err := i.add(v); err != nil {
				return i, err
			}
		}
	}
	return i, nil
}

func aliased() error {
	return failed(broken, "ask its administrator to write it as helm repo index does",
		"has YAML aliases, which are not supported: a few of them can expand to more than fits in memory")
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}

// timedIndex is an index in memory, or, by its digest, in the cache.
type timedIndex struct {
	data   []byte
	digest string
	at     time.Time
}

// maxIndexes is the number of cached indexes.
const maxIndexes = 8

func newIndexes() *lru.Cache[string, timedIndex] {
	c, err := lru.New[string, timedIndex](maxIndexes)
	if err != nil {
		panic(err) // a size of 0
	}
	return c
}

// cachedIndex returns the cached index of a repository, unless it has expired.
func (f *Fetcher) cachedIndex(address string) (timedIndex, bool) {
	d, found := f.indexes.Get(address)
	return d, found && f.now().Sub(d.at) < f.ttl
}
