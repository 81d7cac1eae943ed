// Package images makes the container images that charts ask for, from Go modules'
// programs and from Debian packages: the real programs under their real names, on a
// machine that reaches no registry. images.yaml is the one record of what they are.
//
// They differ from the originals in their version, which is the module's or Debian's
// whatever tag a chart names, and in what they are built on. They cannot be had by
// digest.
package images

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strconv"

	"github.com/google/go-containerregistry/pkg/name"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/e2e/image"
)

//go:embed images.yaml
var record []byte

// recorded is what images.yaml says.
type recorded struct {
	Debian debian  `json:"debian"`
	Images []entry `json:"images"`
}

// entry is one image under the names that charts have for it.
type entry struct {
	Repositories []string          `json:"repositories"` // with their host, without a tag
	Programs     []goProgram       `json:"programs"`
	Copies       []moduleFiles     `json:"copies"`
	Packages     []string          `json:"debian"` // Debian's, without what they depend on
	Entrypoint   []string          `json:"entrypoint"`
	Command      []string          `json:"command"`
	User         string            `json:"user"`  // uid; [image.Nobody] if empty
	Users        map[string]string `json:"users"` // names that the programs look up, to their uid
	Workdir      string            `json:"workdir"`
	Env          map[string]string `json:"env"`
	Links        map[string]string `json:"links"`       // path to target
	Files        map[string]string `json:"files"`       // path to text
	Directories  map[string]string `json:"directories"` // path to the uid of its owner
}

// goProgram is a program of a Go module in an image.
type goProgram struct {
	Path    string `json:"path"`    // in the image
	Dir     string `json:"dir"`     // of the module that pins the version, relative to the e2e module
	Module  string `json:"module"`  // whose version counts
	Package string `json:"package"` // of the program; it may be one of our own in Dir
	// VersionVariable is a variable that the linker sets to the version of the module,
	// as import path and name, where the program wants to know it.
	VersionVariable string   `json:"versionVariable"`
	Tags            []string `json:"tags"`
}

// moduleFiles are files of a Go module in an image, such as the CRDs that an operator
// installs.
type moduleFiles struct {
	Path   string `json:"path"` // folder in the image
	Dir    string `json:"dir"`
	Module string `json:"module"`
	From   string `json:"from"` // folder in the module
}

func (e *entry) uid() int {
	uid, err := strconv.Atoi(e.User)
	if err != nil {
		return image.Nobody
	}
	return uid
}

// accounts are the names of users by uid.
func (e *entry) accounts() map[int]string {
	accounts := map[int]string{e.uid(): "program"}
	for name, id := range e.Users {
		if uid, err := strconv.Atoi(id); err == nil {
			accounts[uid] = name
		}
	}
	return accounts
}

// read decodes and checks images.yaml. Images are found by the full name of each of
// their repositories. $GOARCH in the text is this machine's architecture.
func read(text []byte) (*recorded, map[string]*entry, error) {
	var r recorded
	text = bytes.ReplaceAll(text, []byte("$GOARCH"), []byte(runtime.GOARCH))
	if err := yaml.UnmarshalStrict(text, &r); err != nil {
		return nil, nil, fmt.Errorf("images.yaml: %w", err)
	}
	var faults []error
	byName := map[string]*entry{}
	for i := range r.Images {
		e := &r.Images[i]
		faults = append(faults, e.check(fmt.Sprintf("images.yaml: image %d", i+1)))
		for _, repository := range e.Repositories {
			full, err := fullName(repository)
			if err != nil {
				faults = append(faults, err)
			}
			if byName[full] != nil {
				faults = append(faults, fmt.Errorf("images.yaml: %s is there twice; fix: remove one", repository))
			}
			byName[full] = e
		}
	}
	return &r, byName, errors.Join(faults...)
}

func (e *entry) check(where string) error {
	if len(e.Repositories) == 0 {
		return fmt.Errorf("%s has no repositories", where)
	}
	where = "images.yaml: " + e.Repositories[0]
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf(where+": "+format, args...))
	}
	runs := len(e.Programs)+len(e.Packages) > 0
	if !runs && len(e.Copies) == 0 {
		fault("has neither programs nor debian nor copies; fix: say what it is made from")
	}
	if runs && len(e.Entrypoint)+len(e.Command) == 0 {
		fault("has neither entrypoint nor command; fix: take those of the original's Dockerfile")
	}
	if _, err := strconv.Atoi(e.User); e.User != "" && err != nil {
		fault("user %q is not a uid", e.User)
	}
	for name, id := range e.Users {
		if _, err := strconv.Atoi(id); err != nil {
			fault("the uid of user %s, %q, is not a number", name, id)
		}
	}
	for dir, owner := range e.Directories {
		if _, err := strconv.Atoi(owner); err != nil {
			fault("the owner of %s, %q, is not a uid", dir, owner)
		}
	}
	for _, p := range e.Programs {
		if p.Path == "" || p.Dir == "" || p.Module == "" || p.Package == "" {
			fault("program %q needs path, dir, module and package", path.Base(p.Package))
		}
	}
	for _, c := range e.Copies {
		if c.Path == "" || c.Dir == "" || c.Module == "" || c.From == "" {
			fault("copy %q needs path, dir, module and from", c.Path)
		}
	}
	return errors.Join(faults...)
}

// fullName is what a repository is called with everything that a client adds.
func fullName(repository string) (string, error) {
	parsed, err := name.NewRepository(repository)
	if err != nil {
		return "", fmt.Errorf("image %s: %w; fix: name the repository without tag or digest", repository, err)
	}
	return parsed.Name(), nil
}
