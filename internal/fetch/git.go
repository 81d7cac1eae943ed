package fetch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	gitconfig "github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// isCommit reports whether a version is a commit hash, whose content cannot change.
func isCommit(version string) bool {
	return len(version) == 40 && strings.Trim(version, "0123456789abcdef") == ""
}

// gitRepository fetches the files of a repository at a branch, a tag or a commit.
func (e *attempt) gitRepository() (fetchedContent, error) {
	session, refs, err := e.advertisedRefs(e.at)
	if err != nil {
		return fetchedContent{}, err
	}
	want, commit, err := e.revision(refs)
	if err != nil {
		return fetchedContent{}, err
	}
	exact := e.ref
	exact.Version = commit.String()
	return e.fetchExact(exact, "", func() (remote.Content, error) {
		tree := &files{e: e, bytesLeft: e.f.limits.Unpacked, pathsLeft: e.f.paths}
		withModules := e.at.Query().Get("submodules") != "false"
		if err := tree.add("", session, refs, want, commit, withModules); err != nil {
			return remote.Content{}, err
		}
		data, err := tree.archive()
		return remote.Content{Version: commit.String(), Digest: remote.Digest(data), Data: data}, err
	})
}

// advertisedRefs returns the references of a repository.
func (e *attempt) advertisedRefs(at *url.URL) (transport.UploadPackSession, *packp.AdvRefs, error) {
	bare := *at
	bare.RawQuery = ""
	endpoint, err := transport.NewEndpoint(strings.TrimSuffix(bare.String(), "/"))
	if err != nil {
		return nil, nil, failed(badRef, "correct the address", "%s is not a URL of a repository", bare.String())
	}
	session, err := githttp.NewClient(e.client()).NewUploadPackSession(endpoint, nil)
	if err != nil {
		return nil, nil, e.failureOf(err)
	}
	have, err := session.AdvertisedReferencesContext(e.ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return nil, nil, failed(missing, "push something to it", "the repository at %s is empty", e.host())
	}
	if err != nil {
		return nil, nil, e.failureOf(err)
	}
	return session, have, nil
}

// revision returns the hash to request and the commit it refers to. Names are
// resolved like git fetch does.
func (e *attempt) revision(have *packp.AdvRefs) (want, commit plumbing.Hash, err error) {
	version := e.ref.Version
	if isCommit(version) {
		hash := plumbing.NewHash(version)
		return hash, hash, nil
	}
	if version == "" || version == "HEAD" {
		if have.Head == nil {
			return want, commit, failed(missing, "name a branch, a tag or a commit", "the repository has no HEAD")
		}
		return *have.Head, *have.Head, nil
	}
	for _, form := range []string{"%s", "refs/%s", "refs/tags/%s", "refs/heads/%s"} {
		name := fmt.Sprintf(form, version)
		if hash, found := have.References[name]; found {
			if peeled, found := have.Peeled[name]; found {
				return hash, peeled, nil
			}
			return hash, hash, nil
		}
	}
	remedy := "name one that it has"
	if len(version) >= 7 && strings.Trim(version, "0123456789abcdef") == "" {
		remedy = "name one that it has, or all 40 digits of a commit"
	}
	return want, commit, failed(missing, remedy, "the repository has no branch and no tag %s", version)
}

// objects downloads a commit with its files. The commit is looked up by its hash,
// which is computed from the content, so it is authentic.
func (e *attempt) objects(session transport.UploadPackSession, have *packp.AdvRefs, want, commit plumbing.Hash) (*object.Tree, error) {
	request := packp.NewUploadPackRequest()
	for _, c := range []capability.Capability{capability.Sideband64k, capability.OFSDelta} {
		if have.Capabilities.Supports(c) {
			_ = request.Capabilities.Set(c)
		}
	}
	_ = request.Capabilities.Set(capability.Agent, "ladder-cmp")
	request.Wants = []plumbing.Hash{want}
	tip := have.Head != nil && *have.Head == want
	all := map[plumbing.Hash]bool{}
	for name, hash := range have.References {
		tip = tip || hash == want
		if strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/") {
			all[hash] = true
		}
	}
	direct := tip || have.Capabilities.Supports(capability.AllowReachableSHA1InWant) || have.Capabilities.Supports("allow-any-sha1-in-want")
	if !direct {
		// If a server does not support requests by hash, all branches and tags are
		// fetched with the history that contains the commit.
		request.Wants = nil
		for hash := range all {
			request.Wants = append(request.Wants, hash)
		}
		slices.SortFunc(request.Wants, func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) })
	} else if have.Capabilities.Supports(capability.Shallow) {
		_ = request.Capabilities.Set(capability.Shallow)
		request.Depth = packp.DepthCommits(1)
	}
	response, err := session.UploadPack(e.ctx, request)
	if err != nil {
		if e.fault() == nil && !tip && e.status() == 200 {
			return nil, e.noCommit(commit)
		}
		return nil, e.failureOf(err)
	}
	defer response.Close()
	var stream io.Reader = response
	if request.Capabilities.Supports(capability.Sideband64k) {
		stream = sideband.NewDemuxer(sideband.Sideband64k, response)
	}
	pack, err := io.ReadAll(stream)
	if err != nil {
		return nil, e.failureOf(err)
	}
	if err := e.measure(pack); err != nil {
		return nil, err
	}
	store := memory.NewStorage()
	parser, err := packfile.NewParserWithStorage(packfile.NewScanner(e.deadlineReader(pack)), store)
	if err == nil {
		_, err = parser.Parse()
	}
	if err != nil {
		return nil, e.failureOf(err)
	}
	found, err := object.GetCommit(store, commit)
	if err != nil {
		return nil, e.noCommit(commit)
	}
	tree, err := found.Tree()
	if err != nil {
		return nil, e.failureOf(err)
	}
	return tree, nil
}

func (e *attempt) noCommit(commit plumbing.Hash) *failure {
	return failed(missing, "name one that is on a branch or a tag", "the repository does not provide commit %s", commit)
}

// measure computes the unpacked size of a pack before unpacking, since a small pack
// can contain large objects.
func (e *attempt) measure(pack []byte) error {
	over := func(n int64) *failure {
		if n >= 0 && n <= e.f.limits.Unpacked {
			return nil
		}
		return failed(tooLarge, moreBytes, "the repository at %s unpacks to more than %d bytes", e.host(), e.f.limits.Unpacked)
	}
	scanner := packfile.NewScanner(e.deadlineReader(pack))
	_, count, err := scanner.Header()
	if err != nil {
		return e.failureOf(err)
	}
	var sum int64
	for range count {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return e.failureOf(err)
		}
		if header.Length < 0 {
			return over(-1)
		}
		sum += header.Length + objectOverhead
		if f := over(sum); f != nil {
			return f
		}
		if !header.Type.IsDelta() {
			continue
		}
		delta := prefixWriter{maxBytes: 2 * binary.MaxVarintLen64}
		if _, _, err := scanner.NextObject(&delta); err != nil {
			return e.failureOf(err)
		}
		// A delta starts with the sizes of its base and its result, as varints.
		_, n := binary.Uvarint(delta.data)
		size, m := binary.Uvarint(delta.data[max(n, 0):])
		if n <= 0 || m <= 0 || size > uint64(e.f.limits.Unpacked) {
			return over(-1)
		}
		sum += int64(size)
		if f := over(sum); f != nil {
			return f
		}
	}
	return nil
}

// prefixWriter keeps the first bytes written to it.
type prefixWriter struct {
	data     []byte
	maxBytes int
}

func (b *prefixWriter) Write(p []byte) (int, error) {
	b.data = append(b.data, p[:min(len(p), b.maxBytes-len(b.data))]...)
	return len(p), nil
}

// deadlineReader reads a pack until the deadline of the attempt, which the unpacking
// libraries do not check.
func (e *attempt) deadlineReader(pack []byte) io.ReadSeeker {
	return &deadlineReader{bytes.NewReader(pack), e}
}

type deadlineReader struct {
	*bytes.Reader
	e *attempt
}

func (h *deadlineReader) Read(p []byte) (int, error) {
	if err := h.e.ctx.Err(); err != nil {
		return 0, err
	}
	return h.Reader.Read(p)
}

// WriteTo is disabled, since it would bypass Read.
func (h *deadlineReader) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{h})
}

// objectOverhead is the approximate memory used by an object besides its content.
const objectOverhead = 256

// files are the files of a repository and its submodules.
type files struct {
	e         *attempt
	entries   []entry
	bytesLeft int64 // remaining size limit in bytes
	pathsLeft int   // remaining number of paths
	depth     int
}

// The limits of a repository: as many paths, including directories, as the server
// allows by default for the component's repository, and the same depth. A pack of a
// kilobyte can contain the same directory many times.
const (
	maxPaths          = 200_000
	maxDirectoryDepth = 128
	headerBytes       = 1 << 10 // of a file in the archive, besides its content and name
)

// count counts a path toward the limits.
func (f *files) count(name string) error {
	if err := f.e.ctx.Err(); err != nil {
		return f.e.failureOf(err)
	}
	f.pathsLeft--
	f.bytesLeft -= int64(2*len(name)) + headerBytes
	switch {
	case f.pathsLeft < 0:
		return failed(tooLarge, "name another repository, or vendor the needed files",
			"the repository has more than %d files and directories", f.e.f.paths)
	case f.bytesLeft < 0:
		return failed(tooLarge, moreBytes, "the files of the repository are larger than %d bytes", f.e.f.limits.Unpacked)
	case strings.Count(name, "/") > maxDirectoryDepth:
		return failed(tooLarge, "name another repository, or vendor the needed files",
			"the repository has more than %d levels of directories", maxDirectoryDepth)
	}
	return nil
}

// entry is a file or a symlink.
type entry struct {
	path       string
	data       string
	file       *object.File // the content, if not nil
	executable bool
	link       string // the target of a symlink
}

// content returns the content of a file. It is read on demand, since several
// entries may share it.
func (e *entry) content() (string, error) {
	if e.file == nil {
		return e.data, nil
	}
	return e.file.Contents()
}

// maxSubmoduleDepth is the maximum nesting of submodules.
const maxSubmoduleDepth = 5

// add adds the files of a commit to a directory.
func (f *files) add(dir string, session transport.UploadPackSession, have *packp.AdvRefs, want, commit plumbing.Hash,
	withModules bool) error {
	tree, err := f.e.objects(session, have, want, commit)
	if err != nil {
		return err
	}
	modules := map[string]plumbing.Hash{}
	walker := object.NewTreeWalker(tree, true, nil)
	defer walker.Close()
	for {
		name, at, err := walker.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return f.e.failureOf(err)
		}
		if isUnsafe(name) {
			return failed(broken, "contact its maintainer", "the repository contains a file with the unsafe name %q", name)
		}
		if err := f.count(name); err != nil {
			return err
		}
		switch at.Mode {
		case filemode.Dir:
			continue
		case filemode.Submodule:
			modules[name] = at.Hash
			continue
		}
		file, err := tree.TreeEntryFile(&at)
		if err != nil {
			return f.e.failureOf(err)
		}
		if f.bytesLeft -= file.Size; f.bytesLeft < 0 {
			return failed(tooLarge, moreBytes, "the files of the repository are larger than %d bytes", f.e.f.limits.Unpacked)
		}
		full := path.Join(dir, name)
		add := entry{path: full, file: file, executable: at.Mode == filemode.Executable}
		if at.Mode == filemode.Symlink {
			text, err := (&entry{file: file}).content()
			if err != nil {
				return f.e.failureOf(err)
			}
			add = entry{path: full, link: text}
			if !inside(full, text) {
				continue
			}
		}
		f.entries = append(f.entries, add)
	}
	if !withModules || len(modules) == 0 {
		return nil
	}
	return f.addModules(dir, tree, modules)
}

// isUnsafe reports whether a path of a repository leads out of it, into a git directory, or
// elsewhere on another system.
func isUnsafe(name string) bool {
	lower := strings.ToLower(name)
	return !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") ||
		strings.Contains(lower, ".git") && slices.Contains(strings.Split(lower, "/"), ".git")
}

// addModules adds the submodules of a repository, each at its commit.
func (f *files) addModules(dir string, tree *object.Tree, commits map[string]plumbing.Hash) error {
	if f.depth++; f.depth > maxSubmoduleDepth {
		return failed(tooLarge, "add submodules=false to the query of the address if they are not needed",
			"the submodules of the repository are nested more than %d deep", maxSubmoduleDepth)
	}
	defer func() { f.depth-- }()
	listed := gitconfig.NewModules()
	if file, err := tree.File(".gitmodules"); err == nil {
		text, err := file.Contents()
		if err == nil {
			err = listed.Unmarshal([]byte(text))
		}
		if err != nil {
			return failed(broken, "contact its maintainer, or add submodules=false to the query of the address",
				"the .gitmodules of the repository cannot be read")
		}
	}
	addresses := map[string]string{}
	for _, m := range listed.Submodules {
		addresses[path.Clean(m.Path)] = m.URL
	}
	at := f.e.at
	for _, name := range slices.Sorted(maps.Keys(commits)) {
		address, found := addresses[name]
		if !found {
			continue // empty in git, too
		}
		module, fault := moduleAddress(at, address)
		if fault == "" && (module.Scheme == "oci" || !f.e.f.allow.allows(module)) {
			fault = "is not allowed"
		}
		if fault != "" {
			where := address
			if module != nil && address != module.String() {
				where += ", which is " + module.String() + ","
			}
			return failed(notAllowed, toAllow+", or ?submodules=false to the repository's if it is not needed",
				"the submodule %s at %s %s", name, where, fault)
		}
		if err := f.e.visit(module); err != nil {
			return err
		}
		session, have, err := f.e.advertisedRefs(module)
		if err != nil {
			return err
		}
		if err := f.add(path.Join(dir, name), session, have, commits[name], commits[name], true); err != nil {
			return err
		}
	}
	return nil
}

// moduleAddress parses the URL of a submodule, which may be relative to that of the
// repository.
func moduleAddress(above *url.URL, address string) (*url.URL, string) {
	if strings.HasPrefix(address, "./") || strings.HasPrefix(address, "../") {
		at := *above
		at.RawQuery = ""
		at.Path = path.Join(at.Path, address)
		at.RawPath = ""
		return &at, ""
	}
	return parseAddress(address)
}

// inside reports whether a symlink's target is in the repository, regardless of
// other symlinks: it contains ".." only at its start, where the parents are real
// directories.
func inside(at, link string) bool {
	parts := strings.Split(link, "/")
	for len(parts) > 0 && parts[0] == ".." {
		parts = parts[1:]
	}
	return !path.IsAbs(link) && !slices.Contains(parts, "..") && fs.ValidPath(path.Join(path.Dir(at), link))
}
