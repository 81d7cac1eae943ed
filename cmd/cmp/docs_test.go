package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/sidecar/serve"
	"github.com/ladder-cmp/ladder/wave"
)

// documents are run from the root of the repository, as a reader would.
func documents(t *testing.T) []string {
	t.Helper()
	t.Chdir("../..")
	docs := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/reference/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no documents at %s: %v", pattern, err)
		}
		docs = append(docs, found...)
	}
	return docs
}

// TestConsoleBlocks runs the commands in fenced console blocks of the documents
// and compares what they print. A line "..." stands for any number of lines.
func TestConsoleBlocks(t *testing.T) {
	block := regexp.MustCompile("(?s)```console\n\\$ ((?:\\./)?cmp [^\n]*)\n(.*?)```")
	total := 0
	for _, doc := range documents(t) {
		if slices.Contains(walked, doc) {
			continue
		}
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			total++
			var out bytes.Buffer
			run(elsewhere(t, strings.Fields(m[1])[1:]), cli.Streams{Out: &out, Err: &out})
			parts := strings.Split(m[2], "...\n")
			for i := range parts {
				parts[i] = regexp.QuoteMeta(parts[i])
			}
			if want := regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$"); !want.MatchString(out.String()) {
				t.Errorf("%s: %s prints\n%s\nnot\n%s", doc, m[1], out.String(), m[2])
			}
		}
	}
	if total < 3 {
		t.Errorf("only %d console blocks were found", total)
	}
}

// elsewhere is a command line that writes its files to a directory of the test.
func elsewhere(t *testing.T, args []string) []string {
	for i := 1; i < len(args); i++ {
		if args[i-1] == "--out" {
			args[i] = filepath.Join(t.TempDir(), args[i])
		}
	}
	return args
}

// TestTables compares the tables of the documents with what they
// are about. With -update they are written.
func TestTables(t *testing.T) {
	tables := map[string]string{
		"parameters":  parametersTable(),
		"descriptive": "`" + strings.Join(descriptiveKeys(), "`, `") + "`.\n",
		"rungs":       rungsTable(),
		"effects":     wave.EffectsTable(),
		"serve":       serveTable(t),
		"metrics":     metricsTable(t),
		"keys":        keysTable(t),
		"rules":       rulesTable(),
		"profiles":    profilesTable(t),
		"doctor":      doctorTable(),
		"adopt":       adopted(t),

		"check-findings": findingsTable(t, "check.md#findings"), "crds-findings": findingsTable(t, "crds.md#findings"),
		"varying": findingsTable(t, "repeatable.md#finding-them"), "errors": errorsList(),
	}
	section := regexp.MustCompile("(?s)(<!-- (" + strings.Join(slices.Collect(maps.Keys(tables)), "|") + ") -->\n)(.*?)(<!-- end -->)")
	seen := map[string]bool{}
	for _, doc := range documents(t) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		got := section.ReplaceAllStringFunc(string(text), func(s string) string {
			m := section.FindStringSubmatch(s)
			seen[m[2]] = true
			return m[1] + tables[m[2]] + m[4]
		})
		if got == string(text) {
			continue
		}
		if golden.Update() {
			if err := os.WriteFile(doc, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s: a table is not up to date; run with -update", doc)
	}
	if len(seen) != len(tables) {
		t.Errorf("of the tables only %v are in a document", seen)
	}
}

// TestFleetsInDocuments reads what documents tell people to write into a
// ladder.yaml about a fleet.
func TestFleetsInDocuments(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(fleet:\n.*?)```")
	var own []string
	for _, doc := range documents(t) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			base, err := profile.Reading(knowledge.Default()).With(doc, m[1])
			if err != nil {
				t.Errorf("%s: %v in\n%s", doc, err, m[1])
				continue
			}
			p, err := profile.Of(profile.In(base))
			if err != nil {
				t.Error(err)
			}
			if len(profile.In(base).Bands) == 0 {
				continue
			}
			for _, place := range p.All() {
				own = append(own, p.Write(place.Step))
				for _, rung := range place.Rungs {
					if !slices.ContainsFunc(knowledge.Default().Rungs(), func(r knowledge.Rung) bool { return r.Name == rung }) {
						t.Errorf("%s: %s is for %s, which is no rung", doc, p.Write(place.Step), rung)
					}
				}
			}
		}
	}
	if got, want := strings.Join(own, " "), "00 02 04 10 12 14 16 19 24 26 27 29"; got != want {
		t.Errorf("the profile of one's own has the places %s, want %s", got, want)
	}
}

// descriptiveKeys are the keys of component.yaml that are not parameters.
func descriptiveKeys() []string {
	return slices.DeleteFunc(component.Keys(), func(key string) bool {
		return slices.ContainsFunc(plugin.Parameters(), func(p plugin.Parameter) bool { return p.Key() == key })
	})
}

func parametersTable() string {
	var b strings.Builder
	for _, p := range plugin.Parameters() {
		kind := p.Collection
		if p.Item == "boolean" {
			kind = "boolean"
		}
		fmt.Fprintf(&b, "- `%s` (%s): %s\n", p.Name, kind, p.Tooltip)
	}
	return b.String()
}

// fieldsOfArgoCD are the keys whose fields mean what they mean in an Application.
var fieldsOfArgoCD = []string{"ignoreDifferences", "managedNamespaceMetadata", "info"}

func keysTable(t *testing.T) string {
	var keys yaml.Node
	if err := yaml.Unmarshal(golden.Must(os.ReadFile("../../component/testdata/keys.yaml")), &keys); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fields := map[string][]string{}
	for pair := range slices.Chunk(keys.Content[0].Content, 2) {
		name, doc := pair[0].Value, pair[1].Value
		of, field, nested := strings.Cut(name, ".")
		switch {
		case strings.Contains(strings.TrimPrefix(field, "NAME."), "."):
		case nested && slices.Contains(fieldsOfArgoCD, of):
			fields[of] = append(fields[of], "`"+field+"`")
		case slices.Contains(fieldsOfArgoCD, name):
			fmt.Fprintf(&b, "- `%s`: %s Fields: {%s}.\n", name, doc, name)
		default:
			fmt.Fprintf(&b, "- `%s`: %s\n", name, doc)
		}
	}
	text := b.String()
	for of, names := range fields {
		text = strings.Replace(text, "{"+of+"}", strings.Join(names, ", "), 1)
	}
	return text
}

func rulesTable() string {
	var b strings.Builder
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "- `%s` (%s): %s\n", r.Name, joined(r.Severities), r.Finds)
	}
	return b.String()
}

// findingsTable has the rules that a page describes.
func findingsTable(t *testing.T, page string) string {
	all := rules()
	var b strings.Builder
	b.WriteString("| finding | what it means | what to do |\n| --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if r := all[name]; r.Page == page {
			if r.Fix == "" {
				t.Errorf("%s does not say what to do", name)
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", name, r.Finds, r.Fix)
		}
	}
	return b.String()
}

// errorsList has the rules whose findings say what to do.
func errorsList() string {
	all := rules()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if r := all[name]; r.Page == "components.md#errors" {
			fmt.Fprintf(&b, "- `%s`: %s\n", name, r.Finds)
		}
	}
	return b.String()
}

// adopted is what seed adopt prints of a chart that runs in a cluster.
func adopted(t *testing.T) string {
	t.Helper()
	forbidden := false
	config := secretsServer(t, map[string]map[string][]byte{
		"shop/cellar-auth": {"password": []byte("Zq3WTBvLO3Jx1cPm"), "url": []byte("postgresql://keeper:Zq3WTBvLO3Jx1cPm@cellar:5432")},
		"shop/cellar-tls":  {"ca.crt": []byte("a"), "tls.crt": []byte("b"), "tls.key": []byte("c")},
	}, &forbidden)
	var out, faults bytes.Buffer
	code := run([]string{"seed", "adopt", "../../testdata/charts/cellar", "--name", "cellar", "--namespace", "shop", "--kubeconfig", config},
		cli.Streams{Out: &out, Err: &faults})
	if code != exitOK {
		t.Fatal(faults.String())
	}
	return "```yaml\n" + out.String() + "```\n"
}

func joined(severities []finding.Severity) string {
	var all []string
	for _, s := range severities {
		all = append(all, string(s))
	}
	return strings.Join(all, ", ")
}

func doctorTable() string {
	var b strings.Builder
	for _, r := range doctor.Rules() { // the program prints why it matters, and what to do
		fmt.Fprintf(&b, "- `%s` (%s): %s\n", r.Name, joined(r.Severities), r.Finds)
	}
	return b.String()
}

// profilesTable lists the built-in profiles; the fleet that is made for each has a
// section of a page.
func profilesTable(t *testing.T) string {
	t.Helper()
	sections := map[string]string{"bands": "bands", "gitops": "appofapps", "layers": "layers", "tiers": "tiers", "waves": "zerotouch"}
	var b strings.Builder
	b.WriteString("| profile | steps | style | for |\n| --- | --- | --- | --- |\n")
	for _, name := range profile.Names() {
		p, err := profile.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if sections[name] == "" {
			t.Errorf("the profile %s has no section", name)
		}
		all := p.All()
		fmt.Fprintf(&b, "| [`%s`](fleets.md#%s) | %s to %s | %s | %s |\n",
			name, sections[name], p.Write(all[0].Step), p.Write(all[len(all)-1].Step), p.Style, p.Why)
	}
	return b.String()
}

func rungsTable() string {
	var b strings.Builder
	b.WriteString("| rung | wave | why |\n| --- | --- | --- |\n")
	for _, r := range knowledge.Default().Rungs() {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", r.Name, r.Wave, r.Why)
	}
	return b.String()
}

func serveTable(t *testing.T) string {
	t.Setenv(serve.SocketDirVariable, "") // they set defaults
	t.Setenv(flags.LadderVariable, "")
	var b strings.Builder
	rendering := newRender(cli.Streams{}).Flags()
	newServe(cli.Streams{}).Flags().VisitAll(func(f *pflag.Flag) {
		if same := rendering.Lookup(f.Name); f.Name == "help" || same != nil && same.Usage == f.Usage {
			return // the page of commands has it
		}
		if f.Name == "parallel" {
			f.DefValue = "the CPUs that the container has"
		}
		b.WriteString(flagRow(f))
	})
	return b.String()
}
