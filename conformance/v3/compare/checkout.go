package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checkout is a repository as the repo-server has it.
type checkout struct {
	root   string
	commit int
}

// change is what a commit changes.
type change string

const (
	nothing   change = "nothing of the component"
	aValue    change = "a value"
	aTemplate change = "a template"
)

// What the changes edit.
const (
	valuesFile   = "component/values.yaml"
	templatesDir = "component/templates"
)

// next makes another commit of it: a file that no component reads changes, and
// all files get other times, as they do in a fresh clone. A change of the component
// is a new one each time.
func (c *checkout) next(what change) error {
	c.commit++
	if err := writeFile(c.root, "docs/news.md", fmt.Sprintf("Commit %d.\n", c.commit)); err != nil {
		return err
	}
	var err error
	switch what {
	case aValue:
		err = c.edit(valuesFile, func(text []byte) ([]byte, error) {
			at := replicas.FindSubmatchIndex(text)
			if at == nil {
				return nil, fmt.Errorf("%s has no number of replicas to change", valuesFile)
			}
			return slices.Concat(text[:at[2]], strconv.AppendInt(nil, int64(c.commit), 10), text[at[3]:]), nil
		})
	case aTemplate:
		var name string
		if name, err = c.workload(); err == nil {
			err = c.edit(name, func(text []byte) ([]byte, error) { return fmt.Appendf(text, "\n# Commit %d.\n", c.commit), nil })
		}
	}
	if err != nil {
		return err
	}
	when := time.Unix(1_800_000_000+int64(c.commit), 0)
	return filepath.WalkDir(c.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() == fs.ModeSymlink {
			return err
		}
		return os.Chtimes(path, when, when)
	})
}

// replicas is the value that aValue changes.
var replicas = regexp.MustCompile(`(?m)^\s*replica(?:s|Count): *(\d+)\s*$`)

// workload returns the name of the first template of a Deployment.
func (c *checkout) workload() (string, error) {
	var found string
	err := filepath.WalkDir(filepath.Join(c.root, templatesDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("kind: Deployment")) {
			return err
		}
		if found, err = filepath.Rel(c.root, path); err == nil {
			err = fs.SkipAll
		}
		return err
	})
	if err == nil && found == "" {
		err = fmt.Errorf("%s has no template of a Deployment to change", templatesDir)
	}
	return found, err
}

// edit changes a file.
func (c *checkout) edit(name string, how func([]byte) ([]byte, error)) error {
	text, err := os.ReadFile(filepath.Join(c.root, name))
	if err == nil {
		text, err = how(text)
	}
	if err != nil {
		return err
	}
	return writeFile(c.root, name, string(text))
}

// size counts the files.
func (c *checkout) size() (files int, bytes int64, err error) {
	err = filepath.WalkDir(c.root, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files, bytes = files+1, bytes+info.Size()
		}
		return err
	})
	return files, bytes, err
}

// chartFiles is how many files writeChart writes.
const chartFiles = 4

// writeChart writes a chart of a small application.
func writeChart(root, dir, name string) error {
	for file, text := range map[string]string{
		"Chart.yaml":            "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n",
		"values.yaml":           "replicas: 2\nimage: registry.example.com/" + name + ":1\n",
		"templates/web.yaml":    web,
		"templates/config.yaml": config,
	} {
		if err := writeFile(root, filepath.Join(dir, file), text); err != nil {
			return err
		}
	}
	return nil
}

const web = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Name }}
  labels: {{- include "labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {{- include "labels" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "labels" . | nindent 8 }}
    spec:
      serviceAccountName: {{ .Release.Name }}-{{ .Chart.Name }}
      containers:
      - name: web
        image: {{ .Values.image }}
        envFrom:
        - configMapRef: {name: {{ .Release.Name }}-{{ .Chart.Name }}}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Name }}
spec:
  selector: {{- include "labels" . | nindent 4 }}
  ports:
  - {port: 80, targetPort: 8080}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Name }}
`

const config = `{{- define "labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Name }}
data:
  LOG_LEVEL: info
`

// writeFiller writes files that belong to no component. Their lines repeat as
// those of manifests do, so that they shrink on their way to about a sixth.
func writeFiller(root string, files, size int) error {
	random := rand.New(rand.NewPCG(1, 2))
	lines := make([]string, 400) // fewer than gzip looks back
	for i := range lines {
		text := make([]byte, 10+random.IntN(40))
		for j := range text {
			text[j] = byte('a' + random.IntN(26))
		}
		lines[i] = strings.Repeat("  ", random.IntN(5)) + string(text[:len(text)/3]) + ": " + string(text[len(text)/3:]) + "\n"
	}
	for i := range files {
		var text strings.Builder
		for text.Len() < size {
			// What stands together in one manifest stands together in others.
			from := random.IntN(len(lines) - 20)
			for _, line := range lines[from:][:1+random.IntN(20)] {
				text.WriteString(line)
			}
		}
		if err := writeFile(root, fmt.Sprintf("sources/%03d/%d.yaml", i%200, i), text.String()); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(root, name, text string) error {
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
