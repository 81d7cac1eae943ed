package main

import (
	"archive/tar"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// repo is a repository whose Application is in app.
type repo []sidecartest.Entry

func files(nameAndText ...string) repo {
	var r repo
	for i := 0; i < len(nameAndText); i += 2 {
		r = append(r, sidecartest.File(nameAndText[i], nameAndText[i+1]))
	}
	return r
}

func chartOf(nameAndText ...string) repo {
	return files(append([]string{"app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n"}, nameAndText...)...)
}

func templated(text string) repo { return chartOf("app/templates/a.yaml", text) }

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// bomb is an anchor of ten, in an anchor of ten, and so on: 10^levels values.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("l0: &l0 x\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i-1), 10), ","))
	}
	return b.String()
}

func many(n int, text string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, text, i)
	}
	return b.String()
}

func linkTo(name, target string) sidecartest.Entry {
	return sidecartest.Entry{Header: tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}}
}

func zeros(name string, size int) sidecartest.Entry {
	return sidecartest.Entry{Header: tar.Header{Name: name, Typeflag: tar.TypeReg}, Data: make([]byte, size)}
}

// nested is a chart in a chart, and so on, each packed.
func nested(depth int) []byte {
	var tgz []byte
	for range depth {
		entries := []sidecartest.Entry{sidecartest.File("c/Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n")}
		if tgz != nil {
			entries = append(entries, sidecartest.Entry{Header: tar.Header{Name: "c/charts/c.tgz", Typeflag: tar.TypeReg}, Data: tgz})
		}
		tgz = sidecartest.PackEntries(entries...).Tgz
	}
	return tgz
}

// doublings are directories of two symlinks to the next one: 2^levels paths.
func doublings(name string, levels int) repo {
	var r repo
	for i := range levels {
		next := fmt.Sprintf("../%s%d", path.Base(name), i+1)
		if i == levels-1 {
			next = "../x"
		}
		r = append(r, linkTo(fmt.Sprintf("%s%d/a", name, i), next), linkTo(fmt.Sprintf("%s%d/b", name, i), next))
	}
	return r
}

// children are the processes that the server has started.
func (s *served) children() []string {
	var all []string
	tasks := fmt.Sprintf("/proc/%d/task", s.cmd.Process.Pid)
	threads, _ := os.ReadDir(tasks)
	for _, thread := range threads { // a child belongs to the thread that started it
		text, _ := os.ReadFile(path.Join(tasks, thread.Name(), "children"))
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

// planted stands for a secret.
const planted = "hunter2"
