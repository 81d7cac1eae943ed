package images

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ladder-cmp/ladder/e2e/image"
	"github.com/ladder-cmp/ladder/e2e/program"
)

// debian is how images of Debian packages are made: the packages that apt offers on
// this machine are unpacked into a layer. Nothing is installed on the machine and no
// maintainer script runs, so that it needs neither root nor a folder to change into.
type debian struct {
	Base  []string          `json:"base"`  // packages of every such image, a layer of its own
	Omit  []string          `json:"omit"`  // patterns of packages that others depend on and no program uses
	Drop  []string          `json:"drop"`  // folders and files that no program reads
	Links map[string]string `json:"links"` // what maintainer scripts would have made
}

// resolved are files of packages, with their versions in their names.
type resolved struct{ base, own []string }

// resolve finds the packages of an image with all that they depend on, as if nothing
// was installed.
func (d *debian) resolve(ctx context.Context, dir string, packages []string) (resolved, error) {
	if len(packages) == 0 {
		return resolved{}, nil
	}
	base, err := d.closure(ctx, dir, d.Base)
	if err != nil {
		return resolved{}, err
	}
	all, err := d.closure(ctx, dir, slices.Concat(d.Base, packages))
	if err != nil {
		return resolved{}, err
	}
	return resolved{base: base, own: slices.DeleteFunc(all, func(file string) bool { return slices.Contains(base, file) })}, nil
}

func (d *debian) closure(ctx context.Context, dir string, packages []string) ([]string, error) {
	// What was downloaded already is not listed, hence a folder without anything.
	out, err := apt(ctx, dir, "nothing", append([]string{"--print-uris"}, packages...)...)
	if err != nil {
		return nil, err
	}
	var files []string
	for line := range strings.Lines(out) {
		// 'address' file size digest
		fields := strings.Fields(line)
		if len(fields) < 3 || !strings.HasSuffix(fields[1], ".deb") {
			continue
		}
		if name, _, _ := strings.Cut(fields[1], "_"); !d.omitted(name) {
			files = append(files, fields[1])
		}
	}
	slices.Sort(files)
	return files, nil
}

func (d *debian) omitted(name string) bool {
	return slices.ContainsFunc(d.Omit, func(pattern string) bool {
		matched, err := path.Match(pattern, name)
		return matched && err == nil
	})
}

// apt runs apt-get install with a machine of its own that has nothing installed. Its
// lists of packages and its sources are the machine's. Files of packages are in
// archives, a folder of dir.
func apt(ctx context.Context, dir, archives string, args ...string) (string, error) {
	var bin, unused string
	if err := program.Find(
		program.OfMachine{Path: &bin, Name: "apt-get", Package: "apt"},
		program.OfMachine{Path: &unused, Name: "dpkg-deb", Package: "dpkg"},
	); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(dir, archives, "partial"), 0o755); err != nil {
		return "", err
	}
	status := filepath.Join(dir, "status")
	if err := os.WriteFile(status, nil, 0o644); err != nil {
		return "", err
	}
	fixed := []string{"install", "-qq", "-y", "--no-install-recommends", "-o", "Dir::State::status=" + status, "-o", "Dir::Cache=" + dir,
		"-o", "Dir::Cache::archives=" + filepath.Join(dir, archives), "-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=true"}
	cmd := exec.CommandContext(ctx, bin, append(fixed, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking apt for %s: %w: %s; fix: apt-get update, and see whether Debian has them",
			strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// layers unpacks packages: those of every image, and those of this one.
func (d *debian) layers(ctx context.Context, dir string, packages resolved) ([]v1.Layer, error) {
	if err := download(ctx, dir, slices.Concat(packages.base, packages.own)); err != nil {
		return nil, err
	}
	base := image.NewLayer()
	for _, merged := range mergedDirs {
		base.Link("/"+merged, "usr/"+merged)
	}
	if err := d.unpack(ctx, dir, base, packages.base); err != nil {
		return nil, err
	}
	for _, link := range slices.Sorted(maps.Keys(d.Links)) {
		base.Link(link, d.Links[link])
	}
	own := image.NewLayer()
	if err := d.unpack(ctx, dir, own, packages.own); err != nil {
		return nil, err
	}
	first, err := base.Close()
	if err != nil {
		return nil, err
	}
	second, err := own.Close()
	return []v1.Layer{first, second}, err
}

// downloaded is the folder of files of packages.
const downloaded = "archives"

// download gets the files that are not there yet.
func download(ctx context.Context, dir string, files []string) error {
	var wanted []string
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(dir, downloaded, file)); err == nil {
			continue
		}
		name, rest, _ := strings.Cut(file, "_")
		version, _, _ := strings.Cut(rest, "_")
		wanted = append(wanted, name+"="+strings.ReplaceAll(version, "%3a", ":"))
	}
	if len(wanted) == 0 {
		return nil
	}
	_, err := apt(ctx, dir, downloaded, append([]string{"--download-only"}, wanted...)...)
	return err
}

func (d *debian) unpack(ctx context.Context, dir string, to *image.Layer, files []string) error {
	for _, file := range files {
		if err := d.unpackOne(ctx, filepath.Join(dir, downloaded, file), to); err != nil {
			return fmt.Errorf("unpacking %s: %w", file, err)
		}
	}
	return nil
}

func (d *debian) unpackOne(ctx context.Context, file string, to *image.Layer) error {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = d.copyEntries(tar.NewReader(out), to)
	if err == nil {
		_, err = io.Copy(io.Discard, out)
	}
	return errors.Join(err, cmd.Wait())
}

func (d *debian) copyEntries(from *tar.Reader, to *image.Layer) error {
	for {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := merge(header.Name)
		if name == "." || slices.Contains(mergedDirs, name) || d.dropped(name) {
			continue
		}
		header.Name = name
		if header.Typeflag == tar.TypeLink {
			header.Linkname = merge(header.Linkname)
		}
		header.Format = tar.FormatUnknown
		to.Entry(*header, from)
	}
}

// mergedDirs are links into /usr in any Debian of today; packages still have files
// in them.
var mergedDirs = []string{"bin", "sbin", "lib", "lib64"}

// merge is where a path of a package is found, without a slash in front.
func merge(name string) string {
	name = path.Clean(strings.TrimPrefix(name, "/"))
	if first, _, below := strings.Cut(name, "/"); below && slices.Contains(mergedDirs, first) {
		return "usr/" + name
	}
	return name
}

func (d *debian) dropped(name string) bool {
	return slices.ContainsFunc(d.Drop, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}
