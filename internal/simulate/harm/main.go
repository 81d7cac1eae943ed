// Command harm counts hidden dependencies that hang a sync with the waves of some
// programs, but not in Argo CD's own order: each object with Pods depends on each
// other one, one dependency at a time. The arguments are programs that read
// manifests from standard input and write them with waves, then "--", then files of
// rendered manifests.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ladder-cmp/ladder/internal/simulate"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

func main() {
	end := slices.Index(os.Args, "--")
	if end < 2 || end == len(os.Args)-1 {
		fmt.Fprintln(os.Stderr, `usage: harm "PROGRAM ARGUMENT..."... -- FILE...`)
		os.Exit(2)
	}
	programs, files := os.Args[1:end], os.Args[end+1:]
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	total := make([]struct{ files, waves, tried, harm, harmed int }, len(programs))
	for _, file := range files {
		text, err := read(file)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			os.Exit(1)
		}
		fmt.Fprint(w, file)
		for i, program := range programs {
			sync, err := order(program, text)
			if err != nil {
				fmt.Fprintf(w, "\t%s", err)
				continue
			}
			tried, harm := sync.Pairs()
			t := &total[i]
			t.files, t.waves, t.tried, t.harm = t.files+1, t.waves+sync.Waves(), t.tried+tried, t.harm+len(harm)
			if len(harm) > 0 {
				t.harmed++
			}
			fmt.Fprintf(w, "\t%d waves, %d of %d", sync.Waves(), len(harm), tried)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	for i, t := range total {
		fmt.Printf("%s: %d files, %d waves, %d of %d dependencies hang it, in %d files\n", programs[i], t.files, t.waves, t.harm, t.tried, t.harmed)
	}
}

func read(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return "", err
		}
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

// order lets a program add the waves.
func order(program, text string) (*simulate.Sync, error) {
	args := strings.Fields(program)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin = strings.NewReader(text)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	objs, err := object.Parse("manifests", 1, string(out))
	if err != nil {
		return nil, err
	}
	return simulate.New(objs, knowledge.Default()), nil
}
