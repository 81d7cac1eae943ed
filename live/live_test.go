package live_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/live"
	"github.com/ladder-cmp/ladder/object"
)

// scenario is a case of testdata.
type scenario struct {
	name  string
	snap  live.Snapshot
	first []string // what the first line must say
	never []string // wrong suspects, which no line may blame
}

var directive = regexp.MustCompile(`(?m)^# (\w+): (.*)$`)

// readScenario reads a snapshot. Comments at its start say what no object can: the time, what the
// API server said does not exist or may not be read, logs, and what the answer must be.
func readScenario(t *testing.T, dir string) scenario {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "snapshot.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := scenario{name: filepath.Base(dir)}
	s.snap, err = live.FromObjects(golden.Must(object.Parse("in.yaml", 1, string(text))),
		object.ID{Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	s.snap.Logs = map[live.Container]string{}
	for _, m := range directive.FindAllStringSubmatch(string(text), -1) {
		switch words := strings.Fields(m[2]); m[1] {
		case "now":
			s.snap.Now = live.Time(m[2])
		case "first":
			s.first = append(s.first, m[2])
		case "never":
			s.never = append(s.never, m[2])
		case "export": // why only a file shows all of it
		case "denied":
			s.snap.Denied = append(s.snap.Denied, m[2])
		case "absent":
			s.snap.Absent = append(s.snap.Absent, identity(words))
		case "log":
			s.snap.Logs[live.Container{Pod: identity(words[:2]), Name: words[2]}] = strings.Join(words[3:], " ")
		default:
			t.Errorf("unknown comment %s", m[0])
		}
	}
	return s
}

// identity reads "Kind.group namespace/name".
func identity(words []string) (id object.ID) {
	id.Kind, id.Group, _ = strings.Cut(words[0], ".")
	id.Name = words[1]
	if namespace, name, ok := strings.Cut(words[1], "/"); ok {
		id.Namespace, id.Name = namespace, name
	}
	return id
}

func scenarios(t *testing.T) (all []scenario) {
	t.Helper()
	dirs, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		all = append(all, readScenario(t, dir))
	}
	return all
}

// TestScenarios compares the diagnosis of each snapshot with what is expected. The first line of a
// sync that hangs or failed must name the cause, and no line a wrong suspect; a sync that is
// healthy or slow blames nobody.
func TestScenarios(t *testing.T) {
	bad, suspects, good := 0, 0, 0
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			d := live.Diagnose(s.snap, knowledge.Default())
			text := d.String()
			golden.File(t, "testdata/"+s.name+"/want.txt", fmt.Sprintf("%sexit code %d\n", text, d.ExitCode()))
			if n := strings.Count(text, "\n"); n > 10 {
				t.Errorf("%d lines", n)
			}
			if strings.HasPrefix(s.name, "healthy-") || strings.HasPrefix(s.name, "slow-") {
				good++
				if len(d.Chains) > 0 || d.ExitCode() == 1 || d.ExitCode() == 0 != strings.HasPrefix(s.name, "healthy-") {
					t.Errorf("exit code %d, blames somebody:\n%s", d.ExitCode(), text)
				}
				return
			}
			bad++
			if len(s.never) >= 3 {
				suspects++
			}
			if len(s.first) == 0 || d.ExitCode() != 1 || len(d.Chains) == 0 {
				t.Errorf("exit code %d, %d causes, and %d texts to expect", d.ExitCode(), len(d.Chains), len(s.first))
			}
			for _, want := range s.first {
				if !strings.Contains(d.Headline(), want) {
					t.Errorf("the first line does not say %q:\n%s", want, text)
				}
			}
			for _, wrong := range s.never {
				if strings.Contains(text, wrong) {
					t.Errorf("%q is blamed:\n%s", wrong, text)
				}
			}
		})
	}
	if bad < 30 || suspects < 10 || good < 20 {
		t.Errorf("%d ways to hang, %d with wrong suspects, %d good syncs; want 30, 10 and 20", bad, suspects, good)
	}
}

// TestSecretsAreNeverWanted makes sure that no snapshot leads to a question for a Secret, and that
// the questions end.
func TestSecretsAreNeverWanted(t *testing.T) {
	for _, s := range scenarios(t) {
		wants := live.Next(s.snap, knowledge.Default())
		if slices.ContainsFunc(wants, func(w live.Want) bool { return w.ID.Kind == "Secret" }) {
			t.Errorf("%s: asks for a Secret", s.name)
		}
	}
}
