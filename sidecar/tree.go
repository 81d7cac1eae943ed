package sidecar

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
)

// Limits bound what a repository may cost. Zero means no limit.
type Limits struct {
	// Bytes is the size of all files and names together, unpacked, and 512
	// bytes for each entry, as in a tar file.
	Bytes int64
	// Files is the number of files, directories and links.
	Files int
	// Depth is how many directories and files stand in each other, in the
	// repository and in the target of a symlink. Reading a path takes a time
	// that grows with it.
	Depth int
	// Ratio is how many times the size of the stream all that it unpacks to may
	// be, .git included, which no other limit counts. Below 64 MiB it does not
	// matter: small archives shrink well.
	Ratio int

	// bytesFlag is what sets Bytes, if it is not --max-repository-bytes.
	bytesFlag string
}

// ratioFrom is the size from which the ratio of Limits counts.
const ratioFrom = 64 << 20

const (
	// entrySize is about what a node costs besides its name and content.
	entrySize = 512
	// maxName is the longest path in Linux.
	maxName = 4096
)

// tree is a repository unpacked into memory: a file system that can be read
// and cannot be left. It implements fs.ReadDirFS, fs.ReadFileFS, fs.StatFS and
// fs.ReadLinkFS. After unpack has returned it never changes, so it is safe for
// use by several goroutines.
type tree struct {
	root *node
	// bytes and files are what it holds, counted as its limits count.
	bytes  int64
	files  int
	limits Limits
	// grow waits for the memory that it needs; nil needs none.
	grow func(bytes int64) error
}

// node is a directory, a regular file or a symlink.
type node struct {
	name     string
	mode     fs.FileMode
	data     []byte           // of a file
	target   string           // of a symlink
	children map[string]*node // of a directory
	// unnameable is a name in a directory that is no UTF-8.
	unnameable string
	// sum is that of data, once somebody has asked for it.
	sum atomic.Pointer[digest]
}

// errLimit marks a repository that is too large.
var errLimit = errors.New("the repository is too large for this plugin")

// unpack reads a tgz stream into a tree. It refuses, by name, whatever points
// out of the repository (absolute and ".." paths, symlinks and hard links that
// leave it) and whatever is no file (devices, pipes). The files of .git are
// left out: no rendering needs them, and they are often the larger half.
func unpack(r io.Reader, limits Limits) (*tree, error) { return unpackGrowing(r, limits, nil) }

// unpackGrowing is unpack that asks for memory before it takes it.
func unpackGrowing(r io.Reader, limits Limits, grow func(bytes int64) error) (*tree, error) {
	packed := &counted{from: r}
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("the stream is no gzip file: %w", err)
	}
	unpacked := &inflated{from: z, packed: packed, ratio: int64(limits.Ratio)}
	t := &tree{root: newDir("."), limits: limits, grow: grow}
	for tr := tar.NewReader(unpacked); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if errors.Is(err, errLimit) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("the stream is no tar file: %w", err)
		}
		if len(h.Name) > maxName || len(h.Linkname) > maxName {
			return nil, fmt.Errorf("the repository holds a path of more than %d bytes, which begins with %q", maxName, h.Name[:min(len(h.Name), 40)])
		}
		name := path.Clean(h.Name)
		if inGit(name) {
			continue
		}
		if !utf8.ValidString(name) {
			if err := t.addUnnameable(name); err != nil {
				return nil, err
			}
			continue
		}
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("the repository holds %q, which leaves it", h.Name)
		}
		if err := t.add(name, h, tr); err != nil {
			return nil, err
		}
	}
	// What follows the end of the tar file is part of the checksum, and gzip
	// checks its own only at its end.
	if _, err := io.Copy(io.Discard, unpacked); errors.Is(err, errLimit) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("the stream is no gzip file: %w", err)
	}
	if err := t.checkLinks(); err != nil {
		return nil, err
	}
	t.grow = nil
	return t, nil
}

// counted counts what is read.
type counted struct {
	from io.Reader
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// inflated ends a stream that unpacks to many times its size.
type inflated struct {
	from   io.Reader
	packed *counted
	ratio  int64
	n      int64
}

func (i *inflated) Read(p []byte) (int, error) {
	n, err := i.from.Read(p)
	i.n += int64(n)
	if i.ratio > 0 && i.n > ratioFrom && i.n/i.ratio > i.packed.n {
		return n, fmt.Errorf("%w: it unpacks to more than %d times the size of its stream (--max-repository-ratio)", errLimit, i.ratio)
	}
	return n, err
}

// inGit reports whether a path is that of a .git, or leads into one: also of a submodule,
// whose .git is a file, and in whatever case.
func inGit(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
}

func newDir(name string) *node {
	return &node{name: name, mode: fs.ModeDir | 0o755, children: map[string]*node{}}
}

// charge counts an entry that is about to be held, whose path and target have so
// many bytes.
func (t *tree) charge(name string, size int64, names int) error {
	if t.files++; t.limits.Files > 0 && t.files > t.limits.Files {
		return fmt.Errorf("%w: more than %d files (--max-repository-files), at %q", errLimit, t.limits.Files, beginning(name))
	}
	t.bytes += entrySize + int64(names)
	// The size is a claim, and a sum with it could overflow.
	if t.limits.Bytes > 0 && size > t.limits.Bytes-t.bytes {
		flag := t.limits.bytesFlag
		if flag == "" {
			flag = "--max-repository-bytes"
		}
		return fmt.Errorf("%w: more than %d bytes (%s), at %q", errLimit, t.limits.Bytes, flag, beginning(name))
	}
	t.bytes += size
	if t.grow != nil && t.limits.Bytes > 0 {
		return t.grow(t.bytes)
	}
	return nil
}

// beginning is as much of a path as fits into a message.
func beginning(name string) string { return name[:min(len(name), 100)] }

// deep says what is wrong with a path that has too many parts.
func (t *tree) deep(name string) error {
	if n := strings.Count(name, "/") + 1; t.limits.Depth > 0 && n > t.limits.Depth {
		return fmt.Errorf("%w: %d levels of directories, and %d are allowed (--max-repository-depth), at %q", errLimit, n, t.limits.Depth, name[:min(len(name), 40)])
	}
	return nil
}

// addUnnameable notes that a directory holds something that nobody can ask for,
// since its name is no UTF-8. That directory cannot be listed, but a file of
// another component, maybe an old one, does not make the repository unusable.
func (t *tree) addUnnameable(name string) error {
	parts := strings.Split(name, "/")
	named := slices.IndexFunc(parts, func(part string) bool { return !utf8.ValidString(part) })
	dir := path.Join(append([]string{"."}, parts[:named]...)...)
	if !fs.ValidPath(dir) {
		return fmt.Errorf("the repository holds %q, which leaves it", name)
	}
	if err := errors.Join(t.deep(name), t.charge(name, 0, len(name))); err != nil {
		return err
	}
	parent, err := t.dir(dir)
	if err == nil {
		parent.unnameable = parts[named]
	}
	return err
}

// add puts one entry of the archive into the tree.
func (t *tree) add(name string, h *tar.Header, content io.Reader) error {
	if name == "." {
		return nil
	}
	if err := t.deep(name); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeDir:
		_, err := t.dir(name)
		return err
	}
	if err := t.charge(name, h.Size, len(h.Name)+len(h.Linkname)); err != nil {
		return err
	}
	n := &node{name: path.Base(name), mode: 0o644}
	switch h.Typeflag {
	case tar.TypeReg:
		data, err := t.content(content, h.Size)
		if errors.Is(err, errLimit) {
			return err
		}
		if err != nil {
			return fmt.Errorf("the stream ends inside %q: %w", h.Name, err)
		}
		n.data = data
	case tar.TypeSymlink:
		n.mode |= fs.ModeSymlink
		n.target = h.Linkname
	case tar.TypeLink:
		target := path.Clean(h.Linkname)
		if !fs.ValidPath(target) {
			return fmt.Errorf("the repository holds the hard link %q to %q, which leaves it", h.Name, h.Linkname)
		}
		other := t.lookup(target)
		if other == nil || other.children != nil {
			return fmt.Errorf("the repository holds the hard link %q to %q, which is no file", h.Name, h.Linkname)
		}
		n.mode, n.data, n.target = other.mode, other.data, other.target
	default:
		return fmt.Errorf("the repository holds %q, which is neither file, directory nor link", h.Name)
	}
	parent, err := t.dir(path.Dir(name))
	if err != nil {
		return err
	}
	if old := parent.children[n.name]; old != nil && old.children != nil {
		return fmt.Errorf("the repository holds %q twice, as a directory and as a file", h.Name)
	}
	parent.children[n.name] = n
	return nil
}

// content reads a file whose size has been charged. It is believed as far as
// there is a limit that it was held against.
func (t *tree) content(r io.Reader, size int64) ([]byte, error) {
	if t.limits.Bytes == 0 {
		return io.ReadAll(r)
	}
	data := make([]byte, size)
	_, err := io.ReadFull(r, data)
	return data, err
}

// dir returns the directory of that name, made with those above it if need be.
func (t *tree) dir(name string) (*node, error) {
	at := t.root
	if name == "." {
		return at, nil
	}
	for _, part := range strings.Split(name, "/") {
		next := at.children[part]
		if next == nil {
			if err := t.charge(name, 0, len(part)); err != nil {
				return nil, err
			}
			next = newDir(part)
			at.children[part] = next
		}
		if next.children == nil {
			return nil, fmt.Errorf("the repository holds files below %q, which is no directory", name)
		}
		at = next
	}
	return at, nil
}

// lookup returns the node of that name without following symlinks.
func (t *tree) lookup(name string) *node {
	at := t.root
	if name == "." {
		return at
	}
	for part := range strings.SplitSeq(name, "/") {
		if at = at.children[part]; at == nil {
			return nil
		}
	}
	return at
}

// checkLinks refuses symlinks that leave the repository. Links to nothing are
// legal; they fail where they are used.
func (t *tree) checkLinks() error {
	var visit func(dir string, n *node) error
	visit = func(dir string, n *node) error {
		for _, name := range sortedNames(n.children) {
			child := n.children[name]
			at := path.Join(dir, name)
			if child.children != nil {
				if err := visit(at, child); err != nil {
					return err
				}
				continue
			}
			if child.mode&fs.ModeSymlink != 0 {
				target := path.Join(dir, child.target)
				if !utf8.ValidString(target) {
					continue // it leads to what nobody can ask for
				}
				if strings.HasPrefix(child.target, "/") || !fs.ValidPath(target) {
					return fmt.Errorf("the repository holds the symlink %q to %q, which leaves it", at, child.target)
				}
				if err := t.deep(target); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return visit(".", t.root)
}

func sortedNames(children map[string]*node) []string {
	names := make([]string, 0, len(children))
	for name := range children {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// maxLinks bounds the symlinks on a path, as in Linux.
const maxLinks = 40

// resolve returns the node of that name, following symlinks.
func (t *tree) resolve(op, name string) (*node, error) {
	fail := func(err error) (*node, error) { return nil, &fs.PathError{Op: op, Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	if n := t.lookup(name); n != nil && n.mode&fs.ModeSymlink == 0 {
		return n, nil // as nearly always
	}
	rest := strings.Split(name, "/")
	done := "."
	for links := 0; len(rest) > 0; {
		next := path.Join(done, rest[0])
		rest = rest[1:]
		n := t.lookup(next)
		if n == nil {
			return fail(fs.ErrNotExist)
		}
		if n.mode&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return fail(errors.New("too many symlinks"))
		}
		target := path.Join(done, n.target)
		if !fs.ValidPath(target) {
			return fail(errors.New("the symlink leaves the repository"))
		}
		rest = append(strings.Split(target, "/"), rest...)
		done = "."
	}
	return t.lookup(done), nil
}

func (t *tree) Open(name string) (fs.File, error) {
	n, err := t.resolve("open", name)
	if err != nil {
		return nil, err
	}
	if n.children != nil {
		entries, err := t.ReadDir(name)
		if err != nil {
			return nil, err
		}
		return &openDir{info: info{n}, entries: entries}, nil
	}
	return &openFile{info: info{n}, Reader: bytes.NewReader(n.data)}, nil
}

func (t *tree) ReadFile(name string) ([]byte, error) {
	n, err := t.resolve("read", name)
	if err != nil {
		return nil, err
	}
	if n.children != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	return slices.Clone(n.data), nil
}

// digest is that of the reply to a question. Those of files are remembered,
// since one repository serves many requests.
func (t *tree) digest(q question) digest {
	if q.Op != readFile {
		return ask(t, q).digest()
	}
	n, err := t.resolve("read", q.Path)
	if err != nil || n.children != nil || len(n.data) > maxFile {
		return ask(t, q).digest()
	}
	d := n.sum.Load()
	if d == nil {
		d = new(digestOfBytes(n.data))
		n.sum.Store(d)
	}
	return *d
}

func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.resolve("readdir", name)
	if err != nil {
		return nil, err
	}
	if n.children == nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	if n.unnameable != "" {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fmt.Errorf("the name %q in it is not UTF-8; rename it", n.unnameable)}
	}
	return n.entries(), nil
}

func (t *tree) Stat(name string) (fs.FileInfo, error) {
	n, err := t.resolve("stat", name)
	if err != nil {
		return nil, err
	}
	return info{n}, nil
}

// Lstat describes the node itself, also if it is a symlink; the directories
// above it are followed.
func (t *tree) Lstat(name string) (fs.FileInfo, error) {
	n, err := t.lresolve("lstat", name)
	if err != nil {
		return nil, err
	}
	return info{n}, nil
}

func (t *tree) ReadLink(name string) (string, error) {
	n, err := t.lresolve("readlink", name)
	if err != nil {
		return "", err
	}
	if n.mode&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return n.target, nil
}

func (t *tree) lresolve(op, name string) (*node, error) {
	parent, err := t.resolve(op, path.Dir(name))
	if err != nil {
		return nil, err
	}
	if name == "." {
		return parent, nil
	}
	if n := parent.children[path.Base(name)]; n != nil {
		return n, nil
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

func (n *node) entries() []fs.DirEntry {
	entries := make([]fs.DirEntry, 0, len(n.children))
	for _, name := range sortedNames(n.children) {
		entries = append(entries, fs.FileInfoToDirEntry(info{n.children[name]}))
	}
	return entries
}

// info describes a node. Times are left out: they differ between checkouts of
// the same commit.
type info struct{ n *node }

func (i info) Name() string       { return i.n.name }
func (i info) Size() int64        { return int64(len(i.n.data)) }
func (i info) Mode() fs.FileMode  { return i.n.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.n.children != nil }
func (i info) Sys() any           { return nil }
