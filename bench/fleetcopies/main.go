// Command fleetcopies writes a fleet of many components: copies of those of
// another fleet, under other names and in namespaces of their own. As in a
// platform of several products, the copies share what a cluster has once (its
// storage, definitions and operators of databases, gateways, certificates and
// secrets), and each has its own vault, stores, applications and smoke tests, and
// its own operators for logins and workflows, which bring kinds of their own.
// So most of what a component needs is in its copy, and some in the first.
//
//	go run ./fleetcopies FLEET DIR COMPONENTS
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: fleetcopies FLEET DIR COMPONENTS")
		os.Exit(2)
	}
	count, err := strconv.Atoi(os.Args[3])
	if err == nil {
		err = write(os.DirFS(os.Args[1]), os.Args[2], count)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleetcopies:", err)
		os.Exit(1)
	}
}

// shared is what only the first copy has.
var shared = regexp.MustCompile(`^components/(cluster/crds|data/crds` +
	`|foundation/(crds|storage|coredns-config` +
	`|operators/(cert-manager|clickhouse|cloudnative-pg|external-secrets(-ready)?|redis|strimzi))` +
	`|platform/control-plane/(cert-manager-config|envoy-crds|envoy-gateway))(/|$)`)

func write(from fs.FS, to string, count int) error {
	all, err := components(from)
	if err != nil {
		return err
	}
	own := slices.DeleteFunc(slices.Clone(all), shared.MatchString)
	for copy := 0; count > 0; copy++ {
		if copy > 0 {
			all = own
		}
		all = all[:min(count, len(all))]
		if err := writeCopy(from, filepath.Join(to, fmt.Sprintf("copy-%02d", copy)), copy, all); err != nil {
			return err
		}
		count -= len(all)
	}
	settings, err := fs.ReadFile(from, "ladder.yaml")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "ladder.yaml"), settings, 0o644)
}

// components lists the directories of components in the order of their phases,
// so that the first ones need none of the others.
func components(from fs.FS) ([]string, error) {
	phases := map[string]string{}
	err := fs.WalkDir(from, "components", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "component.yaml" {
			return err
		}
		text, err := fs.ReadFile(from, p)
		if found := phase.FindSubmatch(text); found != nil {
			phases[path.Dir(p)] = string(found[1])
		}
		return err
	})
	var all []string
	for dir := range phases {
		all = append(all, dir)
	}
	slices.SortFunc(all, func(x, y string) int { return strings.Compare(phases[x]+x, phases[y]+y) })
	return all, err
}

var phase = regexp.MustCompile(`(?m)^rolloutPhase: "?(\d+)`)

func writeCopy(from fs.FS, to string, copy int, components []string) error {
	for _, top := range append(slices.Clone(components), "charts") {
		err := fs.WalkDir(from, top, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(from, p)
			if err != nil {
				return err
			}
			out := filepath.Join(to, filepath.FromSlash(p))
			if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
				return err
			}
			return os.WriteFile(out, []byte(renamed(p, string(text), copy)), 0o644)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	title         = regexp.MustCompile(`(?m)^name: (.*)$`)
	namespace     = regexp.MustCompile(`(?m)(namespace: |\.)(ameide|vault)(\.svc|[,}]|$)`)
	group         = regexp.MustCompile(`\b(keycloak\.org|temporal\.io)\b`)
	clusterScoped = regexp.MustCompile(`kind: (Namespace|Cluster[A-Z]\w*|\w+Class|\w+WebhookConfiguration)\n`)
	named         = regexp.MustCompile(`(?m)^(metadata: \{name: |  name: )([\w.-]+)`)
	namesThem     = regexp.MustCompile(`(kind: Cluster(?:Role|SecretStore), name: |gatewayClassName: )([\w-]+)`)
)

// renamed is the text of a file with the names of a copy.
func renamed(file, text string, copy int) string {
	if copy == 0 {
		return text
	}
	with := fmt.Sprintf("-%02d", copy)
	if path.Base(file) == "component.yaml" {
		text = title.ReplaceAllString(text, "name: ${1}"+with)
		return namespace.ReplaceAllString(text, "${1}${2}"+with+"${3}")
	}
	docs := strings.Split(text, "---\n")
	docs = slices.DeleteFunc(docs, func(doc string) bool {
		name := named.FindStringSubmatch(doc)
		return strings.Contains(doc, "kind: Namespace\n") && name != nil && name[2] != "ameide" && name[2] != "vault"
	})
	for i, doc := range docs {
		if clusterScoped.MatchString(doc) && !strings.Contains(doc, "kind: Cluster\n") {
			doc = named.ReplaceAllString(doc, "${1}${2}"+with)
		}
		doc = namesThem.ReplaceAllString(doc, "${1}${2}"+with)
		doc = group.ReplaceAllString(doc, fmt.Sprintf("v%02d.${1}", copy))
		docs[i] = namespace.ReplaceAllString(doc, "${1}${2}"+with+"${3}")
	}
	return strings.Join(docs, "---\n")
}
