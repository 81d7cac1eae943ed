package repository

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/ladder-cmp/ladder/internal/vfs"
)

// Limits are the limits for a repository. Zero means no limit.
type Limits struct {
	// Bytes limits the total unpacked size of files and names, plus 512 bytes for
	// each entry, as in a tar file.
	Bytes int64
	// Files limits the number of files, directories and links.
	Files int
	// Depth limits the depth of paths, in the repository and in targets of
	// symlinks. The time to read a path grows with it.
	Depth int
	// Ratio limits the unpacked size, including .git, as a multiple of the stream's
	// size. No other limit counts .git. It does not apply below 64 MiB, since small
	// archives compress well.
	Ratio int

	// BytesFlag is the flag for Bytes in messages; "" means --max-repository-bytes.
	BytesFlag string
}

// ratioFrom is the size from which Limits.Ratio applies.
const ratioFrom = 64 << 20

const (
	// entrySize is the approximate size of a node without its name and content.
	entrySize = 512
	// MaxPath is the maximum length of a path in Linux, in bytes.
	MaxPath = 4096
)

// unpacker is a Tree whose archive is being read.
type unpacker struct {
	*Tree
	limits Limits
	grow   func(bytes int64) error // may be nil
}

// ErrLimit is the error for a repository that exceeds one of its Limits.
var ErrLimit = errors.New("the repository is too large for this plugin")

// Unpack reads a tgz stream into a tree. It refuses paths outside the repository
// (absolute and ".." paths, symlinks and hard links that leave it) and special
// files (devices, pipes), and names them. It skips the files of .git, which no
// rendering needs, and which are often the larger half.
//
// grow is called with the next size of the tree, and blocks until the memory is
// available; nil never blocks.
func Unpack(r io.Reader, limits Limits, grow func(bytes int64) error) (*Tree, error) {
	packed := &counted{from: r}
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("the stream is not a gzip file: %w", err)
	}
	unpacked := &inflated{from: z, packed: packed, ratio: int64(limits.Ratio)}
	t := &unpacker{Tree: &Tree{Tree: vfs.Tree{Root: vfs.NewDir(".")}}, limits: limits, grow: grow}
	for tr := tar.NewReader(unpacked); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, ErrLimit) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("the stream is not a tar file: %w", err)
		}
		if len(h.Name) > MaxPath || len(h.Linkname) > MaxPath {
			return nil, fmt.Errorf("the repository contains a path of more than %d bytes, which starts with %q", MaxPath,
				h.Name[:min(len(h.Name), 40)])
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
			return nil, fmt.Errorf("the repository contains %q, which leads outside the repository", h.Name)
		}
		if err := t.add(name, h, tr); err != nil {
			return nil, err
		}
	}
	// The data after the end of the tar file is part of the checksum, and gzip
	// verifies its own checksum only at its end.
	if _, err := io.Copy(io.Discard, unpacked); errors.Is(err, ErrLimit) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("the stream is not a gzip file: %w", err)
	}
	if err := t.checkLinks(".", t.Root); err != nil {
		return nil, err
	}
	return t.Tree, nil
}

// counted counts the bytes read.
type counted struct {
	from io.Reader
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// inflated ends a stream that exceeds the ratio.
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
		return n, fmt.Errorf("%w: it unpacks to more than %d times the size of its stream", ErrLimit, i.ratio)
	}
	return n, err
}

// inGit reports whether a path is in .git or is a .git, in any case: the .git of a
// submodule is a file.
func inGit(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
}

// charge counts an entry against the limits before it is stored; names is the
// length of its path and target.
func (t *unpacker) charge(name string, size int64, names int) error {
	if t.files++; t.limits.Files > 0 && t.files > t.limits.Files {
		return fmt.Errorf("%w: more than %d files (--max-repository-files), at %q", ErrLimit, t.limits.Files, beginning(name))
	}
	t.Bytes += entrySize + int64(names)
	// The size comes from the archive, and a sum with it could overflow.
	if t.limits.Bytes > 0 && size > t.limits.Bytes-t.Bytes {
		flag := t.limits.BytesFlag
		if flag == "" {
			flag = "--max-repository-bytes"
		}
		return fmt.Errorf("%w: more than %d bytes (%s), at %q", ErrLimit, t.limits.Bytes, flag, beginning(name))
	}
	t.Bytes += size
	if t.grow != nil && t.limits.Bytes > 0 {
		return t.grow(t.Bytes)
	}
	return nil
}

// beginning returns the part of a path that fits into a message.
func beginning(name string) string { return name[:min(len(name), 100)] }

// deep reports a path that exceeds the depth limit.
func (t *unpacker) deep(name string) error {
	if n := strings.Count(name, "/") + 1; t.limits.Depth > 0 && n > t.limits.Depth {
		return fmt.Errorf("%w: %d levels of directories, and %d are allowed, at %q", ErrLimit, n, t.limits.Depth, name[:min(len(name), 40)])
	}
	return nil
}

// addUnnameable records that a directory contains an entry whose name is not UTF-8,
// which no question can name. That directory cannot be listed, but a file of
// another, possibly obsolete component does not make the repository unusable.
func (t *unpacker) addUnnameable(name string) error {
	parts := strings.Split(name, "/")
	named := slices.IndexFunc(parts, func(part string) bool { return !utf8.ValidString(part) })
	dir := path.Join(append([]string{"."}, parts[:named]...)...)
	if !fs.ValidPath(dir) {
		return fmt.Errorf("the repository contains %q, which leads outside the repository", name)
	}
	if err := errors.Join(t.deep(name), t.charge(name, 0, len(name))); err != nil {
		return err
	}
	parent, err := t.dir(dir)
	if err == nil {
		parent.Unlistable = fmt.Errorf("the name %q in it is not UTF-8; rename it", parts[named])
	}
	return err
}

// add adds an entry of the archive to the tree.
func (t *unpacker) add(name string, h *tar.Header, content io.Reader) error {
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
	n := &vfs.Node{Name: path.Base(name), Mode: 0o644}
	switch h.Typeflag {
	case tar.TypeReg:
		data, err := t.content(content, h.Size)
		if errors.Is(err, ErrLimit) {
			return err
		}
		if err != nil {
			return fmt.Errorf("the stream ends inside %q: %w", h.Name, err)
		}
		n.Data = data
	case tar.TypeSymlink:
		n.Mode |= fs.ModeSymlink
		n.Target = h.Linkname
	case tar.TypeLink:
		target := path.Clean(h.Linkname)
		if !fs.ValidPath(target) {
			return fmt.Errorf("the repository contains the hard link %q to %q, which leads outside the repository", h.Name, h.Linkname)
		}
		other := t.Lookup(target)
		if other == nil || other.IsDir() {
			return fmt.Errorf("the repository contains the hard link %q to %q, which is not a regular file", h.Name, h.Linkname)
		}
		n.Mode, n.Data, n.Target = other.Mode, other.Data, other.Target
	default:
		return fmt.Errorf("the repository contains %q, which is neither file, directory nor link", h.Name)
	}
	parent, err := t.dir(path.Dir(name))
	if err != nil {
		return err
	}
	if old := parent.Children[n.Name]; old != nil && old.IsDir() {
		return fmt.Errorf("the repository contains %q twice, as a directory and as a file", h.Name)
	}
	parent.Children[n.Name] = n
	return nil
}

// content reads a file whose size was charged. The size is trusted only if a limit
// was applied to it.
func (t *unpacker) content(r io.Reader, size int64) ([]byte, error) {
	if t.limits.Bytes == 0 {
		return io.ReadAll(r)
	}
	data := make([]byte, size)
	_, err := io.ReadFull(r, data)
	return data, err
}

// dir returns the directory of that name, and creates it and its parents if needed.
func (t *unpacker) dir(name string) (*vfs.Node, error) {
	d, err := t.MakeDirs(name, func(part string) error { return t.charge(name, 0, len(part)) })
	if errors.As(err, new(*vfs.NotDirError)) {
		return nil, fmt.Errorf("the repository contains files below %q, which is not a directory", name)
	}
	return d, err
}

// checkLinks refuses symlinks below a directory that leave the repository. Dangling
// symlinks are allowed; reading them fails.
func (t *unpacker) checkLinks(dir string, n *vfs.Node) error {
	for _, name := range n.SortedNames() {
		child, at := n.Children[name], path.Join(dir, name)
		var err error
		switch {
		case child.IsDir():
			err = t.checkLinks(at, child)
		case child.IsLink():
			err = t.checkLink(at, path.Join(dir, child.Target), child.Target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *unpacker) checkLink(name, destination, target string) error {
	if !utf8.ValidString(destination) {
		return nil // no question can name its target
	}
	if strings.HasPrefix(target, "/") || !fs.ValidPath(destination) {
		return fmt.Errorf("the repository contains the symlink %q to %q, which leads outside the repository", name, target)
	}
	return t.deep(destination)
}
