// Package repository keeps repositories in memory: it unpacks them as they arrive,
// provides them as a file system, and checks whether another one would give the
// same answers to a set of questions. Processes without file access read a
// repository by Questions.
package repository

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/ladder-cmp/ladder/internal/vfs"
)

// operation is a kind of question.
type operation uint8

const (
	readFile operation = iota + 1
	readDir
	stat
	lstat
	readLink
	readFiles // several questions of readFile in one
)

// Question is a read operation on a repository. Workers read files by questions,
// and results record them as dependencies.
type Question struct {
	Op   operation
	Path string
}

// Reply is the answer to a question. It is always the same for the same repository.
type Reply struct {
	Data    []byte     // of readFile
	Target  string     // of readLink
	Info    FileInfo   // of stat and lstat
	Entries []FileInfo // of readDir
	Fault   *Fault
	Files   []Reply // of readFiles, of the first of its files
}

// FileInfo describes a file in a message. It contains no time, which differs
// between checkouts of the same commit.
type FileInfo struct {
	Base string
	Len  int64
	Bits fs.FileMode
}

func (i FileInfo) Name() string       { return i.Base }
func (i FileInfo) Size() int64        { return i.Len }
func (i FileInfo) Mode() fs.FileMode  { return i.Bits }
func (i FileInfo) ModTime() time.Time { return time.Time{} }
func (i FileInfo) IsDir() bool        { return i.Bits.IsDir() }
func (i FileInfo) Sys() any           { return nil }

// Fault is a file system error in a message.
type Fault struct {
	Op, Path, Text string
	Kind           faultKind
}

type faultKind uint8

const (
	otherFault faultKind = iota
	notExist
	invalid
	isDirectory
)

// FaultOf converts an error to a Fault. fs.ErrNotExist, fs.ErrInvalid and
// syscall.EISDIR are preserved.
func FaultOf(err error) *Fault {
	f := &Fault{Text: err.Error()}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		f.Op, f.Path, f.Text = pe.Op, pe.Path, pe.Err.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Kind = notExist
	case errors.Is(err, fs.ErrInvalid):
		f.Kind = invalid
	case errors.Is(err, syscall.EISDIR):
		f.Kind = isDirectory
	}
	return f
}

// Err converts the Fault back to an error.
func (f *Fault) Err() error {
	var err error
	switch f.Kind {
	case notExist:
		err = fs.ErrNotExist
	case invalid:
		err = fs.ErrInvalid
	case isDirectory:
		err = syscall.EISDIR
	default:
		err = errors.New(f.Text)
	}
	if f.Op == "" {
		return err
	}
	return &fs.PathError{Op: f.Op, Path: f.Path, Err: err}
}

// maxFile is the maximum size of a file. Sending it takes several times as much
// memory in the server, which --worker-memory does not limit.
const maxFile = 64 << 20

// together returns the question that asks for several files. Their names have no zero bytes.
func together(names []string) Question { return Question{readFiles, strings.Join(names, "\x00")} }

// each returns the questions that a question consists of.
func (q Question) each() []Question {
	if q.Op != readFiles {
		return []Question{q}
	}
	var all []Question
	for name := range strings.SplitSeq(q.Path, "\x00") {
		if all = append(all, Question{readFile, name}); len(all) == maxNames {
			break
		}
	}
	return all
}

// maxTogether limits the content in a reply to readFiles, after which it ends. It also limits
// how much of the repository the process keeps that waits for one file after the other.
const maxTogether = 1 << 20

// Ask answers a question from a repository. It is deterministic for the same files.
func Ask(repo fs.FS, q Question) Reply {
	var r Reply
	var err error
	if q.Op == readFiles {
		size := 0
		for _, one := range q.each() {
			reply := Ask(repo, one)
			if r.Files = append(r.Files, reply); size+len(reply.Data) > maxTogether {
				break
			}
			size += len(reply.Data)
		}
		return r
	}
	if len(q.Path) > MaxPath {
		// Symlinks to parent directories make longer ones.
		return Reply{Fault: FaultOf(&fs.PathError{Op: "open", Path: q.Path[:40] + "...",
			Err: fmt.Errorf("a path of more than %d bytes; is there a symlink loop?", MaxPath)})}
	}
	switch q.Op {
	case readFile:
		var info fs.FileInfo
		if info, err = fs.Stat(repo, q.Path); err == nil && info.Size() > maxFile {
			err = &fs.PathError{Op: "read", Path: q.Path, Err: fmt.Errorf("the file is %d MiB; the limit is %d MiB", info.Size()>>20, maxFile>>20)}
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
		err = errors.New("no such Operation")
	}
	if err != nil {
		return Reply{Fault: FaultOf(err)}
	}
	return r
}

func infoOf(info fs.FileInfo) FileInfo {
	i := FileInfo{Base: info.Name(), Bits: info.Mode()}
	if !info.IsDir() {
		i.Len = info.Size()
	}
	return i
}

// FS is a file system that is implemented by answering questions. It implements
// fs.ReadDirFS, fs.ReadFileFS, fs.StatFS and fs.ReadLinkFS.
type FS func(Question) Reply

func (a FS) ReadFile(name string) ([]byte, error) {
	r := a(Question{readFile, name})
	return r.Data, r.Err()
}

// ReadFiles returns a function that reads files by their numbers, which must be asked for in their
// order. It asks for several files at a time.
func (a FS) ReadFiles(names []string) func(i int) ([]byte, error) {
	var replies []Reply // from the number first on
	first := 0
	return func(i int) ([]byte, error) {
		if strings.Contains(names[i], "\x00") {
			return a.ReadFile(names[i])
		}
		if i-first >= len(replies) || i < first {
			end := i + 1
			for end < len(names) && end-i < maxNames && !strings.Contains(names[end], "\x00") {
				end++
			}
			first, replies = i, a(together(names[i:end])).Files
		}
		if i-first >= len(replies) {
			return a.ReadFile(names[i])
		}
		r := replies[i-first]
		replies[i-first] = Reply{}
		return r.Data, r.Err()
	}
}

// maxNames limits the names in a question.
const maxNames = 256

func (a FS) ReadDir(name string) ([]fs.DirEntry, error) {
	r := a(Question{readDir, name})
	entries := make([]fs.DirEntry, len(r.Entries))
	for i, info := range r.Entries {
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return entries, r.Err()
}

func (a FS) Stat(name string) (fs.FileInfo, error)  { return a.info(stat, name) }
func (a FS) Lstat(name string) (fs.FileInfo, error) { return a.info(lstat, name) }

func (a FS) info(op operation, name string) (fs.FileInfo, error) {
	r := a(Question{op, name})
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.Info, nil
}

func (a FS) ReadLink(name string) (string, error) {
	r := a(Question{readLink, name})
	return r.Target, r.Err()
}

func (a FS) Open(name string) (fs.File, error) {
	info, err := a.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := a.ReadDir(name)
		return vfs.NewDirFile(info, entries), err
	}
	data, err := a.ReadFile(name)
	return vfs.NewFile(info, data), err
}

func (r Reply) Err() error {
	if r.Fault == nil {
		return nil
	}
	return r.Fault.Err()
}
