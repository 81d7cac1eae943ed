package sidecar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// operation is one of the things that can be asked of a repository.
type operation uint8

const (
	readFile operation = iota + 1
	readDir
	stat
	lstat
	readLink
	fetch     // its Path is the key
	fetchPart // its Path is that of part
)

// question asks something of a repository. It is how a worker reads files, and
// what a result remembers of the repository that it came from.
type question struct {
	Op   operation
	Path string
}

// reply is what a repository says to a question. The same repository always
// says the same.
type reply struct {
	Data    []byte     // of readFile
	Target  string     // of readLink
	Info    fileInfo   // of stat and lstat
	Entries []fileInfo // of readDir
	Found   *found     // of fetch, with Data
	Fault   *fault
}

// found is what there is to know of a thing besides its data.
type found struct {
	Digest string
	About  []byte
	Size   int64 // of the data, if it comes in parts
}

func replyOf(f Found, err error) reply {
	if err != nil {
		return reply{Fault: faultOf(err)}
	}
	return reply{Data: f.Data, Found: &found{f.Digest, f.About, f.Size}}
}

func (r reply) thing() (Found, error) {
	if r.Found == nil {
		return Found{}, r.err()
	}
	return Found{Digest: r.Found.Digest, About: r.Found.About, Data: r.Data, Size: r.Found.Size}, nil
}

// part names the part of a thing that begins at a byte; keyOfPart reads that.
func part(key string, from int64) string { return strconv.FormatInt(from, 10) + " " + key }

func keyOfPart(part string) (key string, from int64) {
	number, key, _ := strings.Cut(part, " ")
	from, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		from = -1
	}
	return key, from
}

// whole gets the data of a thing that comes in parts.
func (f Found) whole(key string, ask func(question) reply) (Found, error) {
	data := make([]byte, 0, f.Size)
	for int64(len(data)) < f.Size {
		r := ask(question{fetchPart, part(key, int64(len(data)))})
		if err := r.err(); err != nil {
			return Found{}, err
		}
		if len(r.Data) == 0 {
			return Found{}, io.ErrUnexpectedEOF
		}
		data = append(data, r.Data...)
	}
	f.Data = data
	return f, nil
}

// fileInfo describes a file across a connection. It has no time: that differs
// between checkouts of the same commit.
type fileInfo struct {
	Base string
	Len  int64
	Bits fs.FileMode
}

func (i fileInfo) Name() string       { return i.Base }
func (i fileInfo) Size() int64        { return i.Len }
func (i fileInfo) Mode() fs.FileMode  { return i.Bits }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.Bits.IsDir() }
func (i fileInfo) Sys() any           { return nil }

// fault is an error of a file system across a connection.
type fault struct {
	Op, Path, Text string
	Kind           faultKind
}

type faultKind uint8

const (
	otherFault faultKind = iota
	notExist
	invalid
)

func faultOf(err error) *fault {
	f := &fault{Text: err.Error()}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		f.Op, f.Path, f.Text = pe.Op, pe.Path, pe.Err.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Kind = notExist
	case errors.Is(err, fs.ErrInvalid):
		f.Kind = invalid
	}
	return f
}

func (f *fault) err() error {
	var err error
	switch f.Kind {
	case notExist:
		err = fs.ErrNotExist
	case invalid:
		err = fs.ErrInvalid
	default:
		err = errors.New(f.Text)
	}
	if f.Op == "" {
		return err
	}
	return &fs.PathError{Op: f.Op, Path: f.Path, Err: err}
}

// maxFile is the largest file that is handed out. It takes some times as much
// memory in the server on its way, which --worker-memory does not bound.
const maxFile = 64 << 20

// ask asks a repository.
func ask(repo fs.FS, q question) reply {
	var r reply
	var err error
	if len(q.Path) > maxName {
		// Symlinks to directories above make longer ones.
		return reply{Fault: faultOf(&fs.PathError{Op: "open", Path: q.Path[:40] + "...", Err: fmt.Errorf("a path of more than %d bytes; is there a symlink loop?", maxName)})}
	}
	switch q.Op {
	case readFile:
		var info fs.FileInfo
		if info, err = fs.Stat(repo, q.Path); err == nil && info.Size() > maxFile {
			err = &fs.PathError{Op: "read", Path: q.Path, Err: fmt.Errorf("the file has %d MiB, and at most %d are read", info.Size()>>20, maxFile>>20)}
		}
		if err == nil {
			r.Data, err = fs.ReadFile(repo, q.Path)
		}
	case readDir:
		var entries []fs.DirEntry
		entries, err = fs.ReadDir(repo, q.Path)
		for _, e := range entries {
			var info fs.FileInfo
			if info, err = e.Info(); err != nil {
				break
			}
			r.Entries = append(r.Entries, infoOf(info))
		}
	case stat:
		var info fs.FileInfo
		if info, err = fs.Stat(repo, q.Path); err == nil {
			r.Info = infoOf(info)
		}
	case lstat:
		var info fs.FileInfo
		if info, err = fs.Lstat(repo, q.Path); err == nil {
			r.Info = infoOf(info)
		}
	case readLink:
		r.Target, err = fs.ReadLink(repo, q.Path)
	default:
		err = errors.New("no such operation")
	}
	if err != nil {
		return reply{Fault: faultOf(err)}
	}
	return r
}

func infoOf(info fs.FileInfo) fileInfo {
	i := fileInfo{Base: info.Name(), Bits: info.Mode()}
	if !info.IsDir() {
		i.Len = info.Size()
	}
	return i
}

// asked is a repository that is read by questions. It implements fs.ReadDirFS,
// fs.ReadFileFS, fs.StatFS and fs.ReadLinkFS.
type asked func(question) reply

func (a asked) ReadFile(name string) ([]byte, error) {
	r := a(question{readFile, name})
	return r.Data, r.err()
}

func (a asked) ReadDir(name string) ([]fs.DirEntry, error) {
	r := a(question{readDir, name})
	entries := make([]fs.DirEntry, len(r.Entries))
	for i, info := range r.Entries {
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return entries, r.err()
}

func (a asked) Stat(name string) (fs.FileInfo, error)  { return a.info(stat, name) }
func (a asked) Lstat(name string) (fs.FileInfo, error) { return a.info(lstat, name) }

func (a asked) info(op operation, name string) (fs.FileInfo, error) {
	r := a(question{op, name})
	if err := r.err(); err != nil {
		return nil, err
	}
	return r.Info, nil
}

func (a asked) ReadLink(name string) (string, error) {
	r := a(question{readLink, name})
	return r.Target, r.err()
}

func (a asked) Open(name string) (fs.File, error) {
	info, err := a.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := a.ReadDir(name)
		return &openDir{info: info, entries: entries}, err
	}
	data, err := a.ReadFile(name)
	return &openFile{info: info, Reader: bytes.NewReader(data)}, err
}

func (r reply) err() error {
	if r.Fault == nil {
		return nil
	}
	return r.Fault.err()
}

type openFile struct {
	info fs.FileInfo
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info    fs.FileInfo
	entries []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: errors.New("is a directory")}
}

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		all := d.entries
		d.entries = nil
		return all, nil
	}
	if len(d.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.entries))
	some := slices.Clip(d.entries[:n])
	d.entries = d.entries[n:]
	return some, nil
}
