package fetch

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/server"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// gitHost is repositories, by their paths, at a host. It is git's own protocol, and
// what is in them can be what git itself would never write.
type gitHost map[string]*memory.Storage

// Load makes a gitHost a server.Loader.
func (g gitHost) Load(at *transport.Endpoint) (storer.Storer, error) {
	if s := g[at.Path]; s != nil {
		return s, nil
	}
	return nil, transport.ErrRepositoryNotFound
}

func (g gitHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	repository, ask := strings.TrimSuffix(r.URL.Path, "/git-upload-pack"), false
	if repository == r.URL.Path {
		repository, ask = strings.TrimSuffix(r.URL.Path, "/info/refs"), true
	}
	session, err := server.NewServer(g).NewUploadPackSession(&transport.Endpoint{Path: repository}, nil)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	err = g.answer(w, r, session, ask)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
	}
}

func (g gitHost) answer(w http.ResponseWriter, r *http.Request, session transport.UploadPackSession, ask bool) error {
	if ask {
		has, err := session.AdvertisedReferencesContext(r.Context())
		if err != nil {
			return err
		}
		has.Prefix = [][]byte{[]byte("# service=git-upload-pack"), pktline.Flush}
		return has.Encode(w)
	}
	request := packp.NewUploadPackRequest()
	if err := request.Decode(r.Body); err != nil {
		return err
	}
	pack, err := session.UploadPack(r.Context(), request)
	if err != nil {
		return err
	}
	defer pack.Close()
	return pack.Encode(w)
}

// commit puts files into a repository, by their names: what has a slash in its name
// has it in the tree, too, and is in no directory. Modules are commits of others.
func (g gitHost) commit(t *testing.T, repository string, texts map[string]string, modules map[string]plumbing.Hash) plumbing.Hash {
	t.Helper()
	store := memory.NewStorage()
	var tree object.Tree
	for name, text := range texts {
		blob := store.NewEncodedObject()
		blob.SetType(plumbing.BlobObject)
		to, err := blob.Writer()
		if err == nil {
			_, err = to.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
		hash, err := store.SetEncodedObject(blob)
		if err != nil {
			t.Fatal(err)
		}
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: hash})
	}
	for name, hash := range modules {
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Submodule, Hash: hash})
	}
	slices.SortFunc(tree.Entries, func(a, b object.TreeEntry) int { return strings.Compare(a.Name, b.Name) })
	put := func(o interface {
		Encode(plumbing.EncodedObject) error
	}) plumbing.Hash {
		encoded := store.NewEncodedObject()
		err := o.Encode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		hash, err := store.SetEncodedObject(encoded)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	hash := put(&object.Commit{TreeHash: put(&tree)})
	for _, ref := range []*plumbing.Reference{
		plumbing.NewHashReference("refs/heads/main", hash), plumbing.NewSymbolicReference(plumbing.HEAD, "refs/heads/main"),
	} {
		if err := store.SetReference(ref); err != nil {
			t.Fatal(err)
		}
	}
	g["/"+repository] = store
	return hash
}

// modulesFile is a .gitmodules, of paths and their addresses.
func modulesFile(addresses map[string]string) string {
	var b strings.Builder
	for path, address := range addresses {
		fmt.Fprintf(&b, "[submodule %q]\n\tpath = %s\n\turl = %s\n", path, path, address)
	}
	return b.String()
}

func repositoryRef(url string) remote.Ref {
	return remote.Ref{Kind: remote.Repository, URL: url, Version: "main"}
}

// TestHarmfulNames has files that would lie where git keeps its own, or outside.
func TestHarmfulNames(t *testing.T) {
	t.Parallel()
	n, g := newInternet(t), gitHost{}
	n.host("git.example.com", g.ServeHTTP)
	g.commit(t, "good", map[string]string{"a.yaml": "kind: ConfigMap", ".gitignore": ""}, nil)
	f := n.fetcher(Config{Allow: []string{"https://git.example.com"}})
	get(t, f, repositoryRef("https://git.example.com/good"))
	for _, name := range []string{".git", ".GIT", ".git/config", "a/.Git/hooks/post-checkout", "..", "a/../../b", "/etc/passwd", `a\b`} {
		g.commit(t, "bad", map[string]string{name: "harm"}, nil)
		refuse(t, f, repositoryRef("https://git.example.com/bad"), "broken", "git.example.com/bad at main")
	}
	// Nor does a submodule go there.
	inner := g.commit(t, "inner", map[string]string{"config": "harm"}, nil)
	g.commit(t, "bad", map[string]string{".gitmodules": modulesFile(map[string]string{".git": "../inner"})},
		map[string]plumbing.Hash{".git": inner})
	refuse(t, f, repositoryRef("https://git.example.com/bad"), "broken", "git.example.com/bad at main")
}

// TestSameFileManyTimes has a repository whose pack is small and whose files are not.
func TestSameFileManyTimes(t *testing.T) {
	t.Parallel()
	n, g := newInternet(t), gitHost{}
	n.host("git.example.com", g.ServeHTTP)
	f := n.fetcher(Config{Allow: []string{"https://git.example.com"}, Limits: Limits{Unpacked: 100_000}})
	files := map[string]string{}
	for i := range 9 {
		files[fmt.Sprint(i)] = strings.Repeat("x", 10_000)
	}
	g.commit(t, "repo", files, nil)
	get(t, f, repositoryRef("https://git.example.com/repo"))
	files["9"], files["10"] = files["0"], files["0"]
	g.commit(t, "repo", files, nil)
	refuse(t, f, repositoryRef("https://git.example.com/repo"), "too-large",
		"the files of the repository are larger than 100000 bytes; fix: raise --remote-max-bytes")
}

// TestDeepModules has submodules in submodules.
func TestDeepModules(t *testing.T) {
	t.Parallel()
	n, g := newInternet(t), gitHost{}
	n.host("git.example.com", g.ServeHTTP)
	f := n.fetcher(Config{Allow: []string{"https://git.example.com"}, Limits: Limits{Concurrent: 1}})
	hash := g.commit(t, "0", map[string]string{"file": "0"}, nil)
	for i := range maxSubmoduleDepth + 1 {
		hash = g.commit(t, fmt.Sprint(i+1), map[string]string{".gitmodules": modulesFile(map[string]string{"m": "../" + fmt.Sprint(i)})},
			map[string]plumbing.Hash{"m": hash})
	}
	get(t, f, repositoryRef(fmt.Sprint("https://git.example.com/", maxSubmoduleDepth)))
	refuse(t, f, repositoryRef(fmt.Sprint("https://git.example.com/", maxSubmoduleDepth+1)), "too-large",
		"are nested more than 5 deep; fix: add submodules=false")
	get(t, f, repositoryRef(fmt.Sprint("https://git.example.com/", maxSubmoduleDepth+1, "?submodules=false")))
	// How many there are beside each other does not matter.
	inner, modules, addresses := g.commit(t, "0", map[string]string{"file": "0"}, nil), map[string]plumbing.Hash{}, map[string]string{}
	for i := range 2 * maxSubmoduleDepth {
		modules[fmt.Sprint("m", i)], addresses[fmt.Sprint("m", i)] = inner, "../0"
	}
	g.commit(t, "wide", map[string]string{".gitmodules": modulesFile(addresses)}, modules)
	get(t, f, repositoryRef("https://git.example.com/wide"))
}

// TestCredentialsOfModules has submodules at home and away: each host gets its own
// credential, whatever was fetched before.
func TestCredentialsOfModules(t *testing.T) {
	t.Parallel()
	n, home, away := newInternet(t), gitHost{}, gitHost{}
	n.host("git.example.com", home.ServeHTTP)
	n.host("other.example.com", away.ServeHTTP)
	deep := home.commit(t, "deep", map[string]string{"file": "deep"}, nil)
	there := away.commit(t, "there", map[string]string{".gitmodules": modulesFile(map[string]string{"deep": "https://git.example.com/deep"})},
		map[string]plumbing.Hash{"deep": deep})
	here := home.commit(t, "here", map[string]string{"file": "here"}, nil)
	home.commit(t, "repo",
		map[string]string{".gitmodules": modulesFile(map[string]string{"a": "https://other.example.com/there", "b": "../here"})},
		map[string]plumbing.Hash{"a": there, "b": here})
	dir := t.TempDir()
	for _, host := range []string{"git.example.com", "other.example.com"} {
		write(t, dir+"/"+host+"/token", "of-"+host)
	}
	get(t, n.fetcher(Config{Allow: []string{"https://*.example.com"}, Credentials: Credentials{Dir: dir}}),
		repositoryRef("https://git.example.com/repo"))
	for host, want := range map[string]int{"git.example.com": 6, "other.example.com": 2} {
		asked := n.asked(host)
		if len(asked) != want {
			t.Errorf("%s is asked %d times, want %d", host, len(asked), want)
		}
		for _, r := range asked {
			if got := r.Header.Get("Authorization"); got != "Bearer of-"+host {
				t.Errorf("%s%s is sent %q", host, r.URL.Path, got)
			}
		}
	}
}
