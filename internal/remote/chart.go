package remote

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// maxChartFile limits the size of a Chart.yaml in bytes, and maxChart how much of
// a chart is unpacked to find it.
const (
	maxChartFile = 5 << 20
	maxChart     = 100 << 20
)

// OtherChart says that a packaged chart does not have the given name and version;
// empty if it has, or contains no such information. A "v" prefix and a suffix after
// "+" are ignored; an empty version matches any.
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

// BrokenChart says why data is not a packaged chart: it cannot be unpacked
// completely, or has no Chart.yaml with a name; empty if it may be one. Charts that
// exceed Helm's limits are refused when they are loaded.
func BrokenChart(data []byte) string {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err.Error()
	}
	limited := &io.LimitedReader{R: unpacked, N: maxChart}
	files := tar.NewReader(limited)
	for err == nil {
		var header *tar.Header
		if header, err = files.Next(); err == nil && sparse(header) {
			return "it has a sparse file, which no chart needs"
		}
		if err == nil {
			_, err = io.Copy(io.Discard, files)
		}
	}
	if limited.N == 0 {
		return ""
	}
	if !errors.Is(err, io.EOF) {
		return err.Error()
	}
	if about, _ := aboutChart(data); about.Name == "" {
		return "it has no Chart.yaml with a name"
	}
	return ""
}

// sparse reports whether a file of an archive has holes: its size can exceed that
// of the archive by far, and reading takes accordingly long.
func sparse(header *tar.Header) bool {
	for record := range header.PAXRecords {
		if strings.HasPrefix(record, "GNU.sparse.") {
			return true
		}
	}
	return header.Typeflag == tar.TypeGNUSparse
}

type chartFile struct{ Name, Version string }

// aboutChart reads the Chart.yaml of a packaged chart.
func aboutChart(data []byte) (about chartFile, found bool) {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return about, false
	}
	files := tar.NewReader(io.LimitReader(unpacked, maxChart))
	for {
		header, err := files.Next()
		if err != nil {
			return about, false
		}
		dir, file, below := strings.Cut(strings.TrimPrefix(header.Name, "./"), "/")
		if !below || dir == "" || file != "Chart.yaml" {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(files, maxChartFile))
		if err != nil || yaml.Unmarshal(text, &about) != nil {
			return about, false
		}
		return about, about.Name != "" && about.Version != ""
	}
}
