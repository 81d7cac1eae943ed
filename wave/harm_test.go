package wave_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

var harmOf = flag.String("harm", "",
	"comma-separated commands that read manifests and write them with waves; their arguments after the flags are files of rendered manifests")

// TestHarm counts hidden dependencies that hang a sync with the waves of some programs,
// but not in Argo CD's own order: each object with Pods depends on each other one, one
// dependency at a time (docs/benchmarks.md).
func TestHarm(t *testing.T) {
	if *harmOf == "" {
		t.Skip("without -harm")
	}
	programs := strings.Split(*harmOf, ",")
	w := tabwriter.NewWriter(t.Output(), 0, 0, 2, ' ', 0)
	total := make([]struct{ files, waves, tried, harm, harmed int }, len(programs))
	for _, file := range flag.Args() {
		text, err := readPacked(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, file)
		for i, program := range programs {
			sync, err := orderedBy(program, text)
			if err != nil {
				fmt.Fprintf(w, "\t%s", err)
				continue
			}
			tried, harm := sync.Pairs()
			sum := &total[i]
			sum.files, sum.waves, sum.tried, sum.harm = sum.files+1, sum.waves+sync.Waves(), sum.tried+tried, sum.harm+len(harm)
			if len(harm) > 0 {
				sum.harmed++
			}
			fmt.Fprintf(w, "\t%d waves, %d of %d", sync.Waves(), len(harm), tried)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	for i, sum := range total {
		t.Logf("%s: %d files, %d waves, %d of %d dependencies hang it, in %d files",
			programs[i], sum.files, sum.waves, sum.harm, sum.tried, sum.harmed)
	}
}

func readPacked(file string) (string, error) {
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

// orderedBy lets a program add the waves.
func orderedBy(program, text string) (*simulation, error) {
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
	return newSimulation(objs, knowledge.Default()), nil
}
