package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/render/input"
)

// maxChartFiles and maxChartBytes limit a chart with its dependencies. Helm itself
// refuses packaged charts of more than 100 MiB.
const (
	maxChartFiles = 50_000
	maxChartBytes = 100 << 20
)

// chartSize counts what was read for a chart and its dependencies. With symlinks and
// file:// dependencies the files of a small repository can have any number of
// names, and are read again under each.
type chartSize struct {
	files, bytes int
	maxFiles     int // maxChartFiles, and less in tests
	// dirs are the directories of charts that were not packaged.
	dirs map[*chart.Chart]string
}

// exceeded says which limit is exceeded; empty if none is.
func (in *chartSize) exceeded() string {
	switch {
	case in.files > in.maxFiles:
		return fmt.Sprintf("the chart has more than %d files and directories", in.maxFiles)
	case in.bytes > maxChartBytes:
		return fmt.Sprintf("the files of the chart are larger than %d bytes in total", maxChartBytes)
	}
	return ""
}

// errTooLarge means that a limit of chartSize is exceeded.
var errTooLarge = errors.New("the chart is too large")

// loadChart reads the chart in dir with its file:// dependencies. parents contains
// the directories of charts being loaded, to detect charts that depend on
// themselves.
func (s source) loadChart(dir string, parents []string, in *chartSize) (*chart.Chart, error) {
	files, err := chartFiles(s.FS, dir, in)
	if errors.Is(err, errTooLarge) {
		return nil, s.Fault(finding.BadChart, "", in.exceeded(),
			"list files that are not part of it in .helmignore, and check for symlinks and dependencies that contain the same files several times")
	}
	if err != nil {
		f := s.Unreadable(err)
		if errors.As(err, new(badIgnore)) {
			f.Remedy = "correct the pattern, for example with one line for each directory: Helm has no double star"
		}
		return nil, f
	}
	ch, err := loader.LoadFiles(files)
	if err != nil && !slices.ContainsFunc(files, func(f *archive.BufferedFile) bool { return f.Name == "Chart.yaml" }) {
		if by := s.hiddenBy(dir, "Chart.yaml"); by != "" {
			return nil, finding.Finding{Severity: finding.Error, Rule: finding.BadChart, File: s.Show(path.Join(dir, "Chart.yaml")),
				Message: "the file is excluded by " + by, Remedy: "correct this line; a line that begins with ! excludes everything else"}
		}
	}
	if err != nil {
		return nil, s.loadFault(dir, err)
	}
	if in.dirs == nil {
		in.dirs = map[*chart.Chart]string{}
	}
	in.dirs[ch] = dir
	return ch, s.addLocalDependencies(ch, dir, append(parents, dir), in)
}

// chartFiles reads the files of a chart directory like Helm: it applies .helmignore
// and follows symlinks (inside the repository).
func chartFiles(fsys fs.FS, dir string, in *chartSize) ([]*archive.BufferedFile, error) {
	rules := ignore.Empty()
	if data, err := fs.ReadFile(fsys, path.Join(dir, ignore.HelmIgnore)); err == nil {
		if rules, err = ignore.Parse(bytes.NewReader(data)); err != nil {
			return nil, &fs.PathError{Op: "parse", Path: path.Join(dir, ignore.HelmIgnore), Err: badIgnore{err}}
		}
	}
	rules.AddDefaults()
	var files []*archive.BufferedFile
	var visit func(rel string, depth int) error
	visit = func(rel string, depth int) error {
		// Symlinks to parent directories nest without end. The deepest tree in 85 public
		// charts has 9 levels.
		if depth > maxChartDepth {
			return &fs.PathError{Op: "read", Path: path.Join(dir, rel),
				Err: errors.New("directories are nested too deeply; is there a symlink loop?")}
		}
		entries, err := fs.ReadDir(fsys, path.Join(dir, rel))
		if err != nil {
			return err
		}
		var regular []int // numbers of files whose content is missing
		for _, e := range entries {
			if in.files++; in.exceeded() != "" {
				return errTooLarge
			}
			name := path.Join(rel, e.Name())
			info, err := statEntry(fsys, path.Join(dir, name), e)
			if err != nil {
				return err
			}
			if rules.Ignore(name, info) || name == remote.LockFile || name == remote.VendorDir {
				continue // vendored content is not part of the chart
			}
			switch {
			case info.IsDir():
				if err := visit(name, depth+1); err != nil {
					return err
				}
			case !info.Mode().IsRegular():
				return &fs.PathError{Op: "read", Path: path.Join(dir, name), Err: errors.New("not a regular file")}
			default:
				if in.bytes += int(info.Size()); in.exceeded() != "" {
					return errTooLarge
				}
				regular = append(regular, len(files))
				files = append(files, &archive.BufferedFile{Name: name, ModTime: info.ModTime()})
			}
		}
		return readContents(fsys, dir, files, regular)
	}
	return files, visit("", 0)
}

const maxChartDepth = 64

// statEntry describes an entry of a directory, or what it links to.
func statEntry(fsys fs.FS, name string, e fs.DirEntry) (fs.FileInfo, error) {
	if e.Type()&fs.ModeSymlink != 0 {
		return fs.Stat(fsys, name)
	}
	return e.Info()
}

// readContents reads the content of some of the files of a chart, together where that is cheaper.
func readContents(fsys fs.FS, dir string, files []*archive.BufferedFile, which []int) error {
	names := make([]string, len(which))
	for i, n := range which {
		names[i] = path.Join(dir, files[n].Name)
	}
	return input.ReadFiles(fsys, names, func(i int, data []byte) {
		files[which[i]].Data = bytes.TrimPrefix(data, []byte("\ufeff"))
	})
}

// addLocalDependencies adds file:// dependencies, which "helm dependency build"
// copies to charts/. A copy in charts/ takes precedence.
func (s source) addLocalDependencies(ch *chart.Chart, dir string, parents []string, in *chartSize) error {
	var faults []error
	for _, dep := range ch.Metadata.Dependencies {
		rel, local := strings.CutPrefix(dep.Repository, "file://")
		if !local || vendored(ch, dep.Name) {
			continue
		}
		bad := func(message, remedy string) {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.BadChart,
				File: s.Show(path.Join(dir, dependencyFile(ch))),
				Line: lineOfDependency(ch, dep), Field: "dependencies." + dep.Name, Message: message, Remedy: remedy})
		}
		at := path.Join(dir, rel)
		if strings.HasPrefix(rel, "/") || !fs.ValidPath(at) {
			bad("the path "+rel+" leaves the repository", "use a path relative to the chart, inside the repository")
			continue
		}
		if slices.Contains(parents, at) {
			if at == dir {
				bad("the dependency "+dep.Repository+" is this chart itself", "remove it")
				continue
			}
			bad("the dependency "+dep.Repository+" depends on this chart", "remove one of the two dependencies")
			continue
		}
		if !input.FileExists(s.FS, path.Join(at, "Chart.yaml")) {
			bad("no chart found in "+s.Show(at), "correct the path "+dep.Repository)
			continue
		}
		sub, err := s.loadChart(at, parents, in)
		if err != nil {
			faults = append(faults, err)
			if in.exceeded() != "" {
				break // reported once; nothing more can be read
			}
			continue
		}
		if sub.Name() != dep.Name {
			bad(fmt.Sprintf("the chart in %s is called %s", s.Show(at), sub.Name()), "use this name in the dependency")
			continue
		}
		if !satisfies(dep.Version, sub.Metadata.Version) {
			bad(fmt.Sprintf("the chart in %s has version %s, not %s", s.Show(at), sub.Metadata.Version, dep.Version),
				"change one of the two versions")
			continue
		}
		ch.AddDependency(sub)
	}
	return errors.Join(faults...)
}

// dependencyFile returns the file that lists a chart's dependencies; charts of Helm
// 2 have a separate one.
func dependencyFile(ch *chart.Chart) string {
	if slices.ContainsFunc(ch.Raw, func(f *common.File) bool { return f.Name == "requirements.yaml" }) {
		return "requirements.yaml"
	}
	return "Chart.yaml"
}

func vendored(ch *chart.Chart, name string) bool {
	return slices.ContainsFunc(ch.Dependencies(), func(d *chart.Chart) bool { return d.Name() == name })
}

func satisfies(constraint, version string) bool {
	if constraint == "" {
		return true
	}
	c, err := semver.NewConstraint(constraint)
	if err != nil {
		return false
	}
	v, err := semver.NewVersion(version)
	return err == nil && c.Check(v)
}
