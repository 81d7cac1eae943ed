package remote

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// mostChartFile bounds a Chart.yaml, in bytes, and mostChart a chart as far as it is
// unpacked to find it.
const (
	mostChartFile = 5 << 20
	mostChart     = 100 << 20
)

// OtherChart says in words that a packed chart is another one than the chart of
// this name and version; empty if it is that one, or tells nothing about itself.
// Versions may differ in a "v" before them and in what is behind a "+"; without one,
// any is right.
func OtherChart(data []byte, name, version string) string {
	about, found := aboutChart(data)
	bare := func(version string) string {
		version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
		return version
	}
	if !found || about.Name == name && (version == "" || bare(about.Version) == bare(version)) {
		return ""
	}
	return fmt.Sprintf("it is the chart %s %s, and not %s %s", about.Name, about.Version, name, version)
}

type chartFile struct{ Name, Version string }

// aboutChart reads the Chart.yaml of a packed chart.
func aboutChart(data []byte) (about chartFile, found bool) {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return about, false
	}
	files := tar.NewReader(io.LimitReader(unpacked, mostChart))
	for {
		header, err := files.Next()
		if err != nil {
			return about, false
		}
		dir, file, below := strings.Cut(strings.TrimPrefix(header.Name, "./"), "/")
		if !below || dir == "" || file != "Chart.yaml" {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(files, mostChartFile))
		if err != nil || yaml.Unmarshal(text, &about) != nil {
			return about, false
		}
		return about, about.Name != "" && about.Version != ""
	}
}
