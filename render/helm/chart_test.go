package helm

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/render/input"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// TestMultipliedCharts gives a chart a few files that can be read under very
// many names. That must end, with one fault.
func TestMultipliedCharts(t *testing.T) {
	// 2^18 names are more than are read. Linux follows 40 links in a path, and counts some
	// twice when it has to begin again. It needs seconds for as many as are read at most.
	const levels, fewFiles = 18, 2000
	links := func(s source) error {
		_, err := s.loadChart(s.Dir, nil, &chartSize{maxFiles: fewFiles})
		return err
	}
	whole := func(s source) error {
		_, err := Render(t.Context(), s.Source, s.opt)
		return err
	}
	files := "the chart has more than %d files and directories"
	for _, tt := range []struct {
		name string
		fsys fs.FS
		read func(source) error
		want string
	}{
		{"links", os.DirFS(chainOfLinks(t, levels)), links, fmt.Sprintf(files, fewFiles)},
		{"dependencies", chainOfDependencies(), whole, fmt.Sprintf(files, maxChartFiles)},
		{"bytes", largeChart(), whole, fmt.Sprintf("the files of the chart are larger than %d bytes in total", maxChartBytes)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.read(source{input.Source{FS: tt.fsys, Dir: "c"}, Options{Name: "c", KubeVersion: "1.34.0"}})
			found := finding.Of(err)
			if len(found) != 1 || found[0].File != "c" || found[0].Message != tt.want || !strings.Contains(found[0].Remedy, ".helmignore") {
				t.Errorf("got %d faults: %v\nwant one: c: %s", len(found), err, tt.want)
			}
		})
	}
}

// chainOfLinks returns a directory with the chart c, in which d0 holds the links a and b to
// d1, which holds such links to d2, ...
func chainOfLinks(t *testing.T, levels int) string {
	t.Helper()
	root := t.TempDir()
	chart := filepath.Join(root, "c")
	for i := range levels {
		dir := filepath.Join(chart, fmt.Sprint("d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if err := os.Symlink(fmt.Sprint("../d", i+1), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	last := filepath.Join(chart, fmt.Sprint("d", levels))
	if err := os.Mkdir(last, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		filepath.Join(chart, "Chart.yaml"): "{apiVersion: v2, name: c, version: 1.0.0}",
		filepath.Join(last, "end"):         "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// chainOfDependencies returns the chart c, which depends on a0 and b0, and each of them on
// a1 and b1, ... No chart has many files: to read one takes longer than to count the files
// that it has besides.
func chainOfDependencies() fs.FS {
	const levels, others = 10, 50
	fsys := fstest.MapFS{}
	chart := func(name string, level int) {
		text := "{apiVersion: v2, name: " + name + ", version: 1.0.0, dependencies: ["
		for _, next := range []string{"a", "b"} {
			if level < levels {
				text += fmt.Sprintf("{name: %s%d, version: 1.0.0, repository: file://../%s%d},", next, level, next, level)
			}
		}
		fsys[name+"/Chart.yaml"] = &fstest.MapFile{Data: []byte(text + "]}")}
		for i := range others {
			fsys[fmt.Sprint(name, "/", i)] = &fstest.MapFile{}
		}
	}
	chart("c", 0)
	for i := range levels {
		chart(fmt.Sprint("a", i), i+1)
		chart(fmt.Sprint("b", i), i+1)
	}
	return fsys
}

// largeChart returns a chart with more bytes than are read.
func largeChart() fs.FS {
	fsys := fstest.MapFS{"c/Chart.yaml": {Data: []byte("{apiVersion: v2, name: c, version: 1.0.0}")}}
	megabytes := []byte(strings.Repeat("x", 4<<20))
	for i := range maxChartBytes/len(megabytes) + 1 {
		fsys[fmt.Sprint("c/files/", i)] = &fstest.MapFile{Data: megabytes}
	}
	return fsys
}
