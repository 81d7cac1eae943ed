package why_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"
)

// situation is a file of testdata: an Application, what is around it, and what cmp why has to
// say. Its name is also that of the Application and of its namespace, for which APP stands.
//
// Comments at its start say what is expected and done:
//
//	first: TEXT   the first line contains it
//	says: TEXT    a line contains it
//	never: TEXT   no line contains it
//	good: healthy it blames nobody from the start of the sync until it is healthy
//	good: slow    the same, and it need not become healthy
//	retry: N      the sync is retried
//	wait: NAME    the sync starts when the Deployment of the world runs
//	sync: no      nobody asks for a sync
//	ask: NAME     cmp why is asked about another Application
//	next: synced  section next is committed once the first sync has succeeded, and synced
//	next: running it is committed while the first sync hangs
//	next: terminate  the first sync is terminated while it hangs
//	delete: REF   deletes the object after the world is there, and before the sync
//	remove: REF   deletes the object once the first sync has succeeded
//
// A REF is "apiVersion Kind namespace/name". Sections begin with a line such as "-- app --":
//
//	world        objects in the cluster before
//	app          manifests in the repository
//	next         those that replace them in a second commit
//	play         what other programs write into objects once these exist, such as a status
//	application  fields of the Application
//
// Others are the manifests in a folder of that name. REPO stands for the repository, SERVER for the
// cluster, LONG for a text that is too long for an annotation, and CERTIFICATE, PRIVATE and OWN for a
// certificate of Service guard, its key and its CA; ANOTHER is another CA.
type situation struct {
	name, ask    string
	first, says  []string
	never        []string
	good         string
	retry        int
	unasked      bool
	next, wait   string
	before, gone []string // what is deleted before the sync, and after
	sections     map[string]string
}

var (
	told    = regexp.MustCompile(`^# (\w+): (.*)$`)
	section = regexp.MustCompile(`^-- (\w+) --$`)
)

func readSituations(t *testing.T) (all []*situation) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s := &situation{ask: strings.TrimSuffix(filepath.Base(path), ".yaml"), name: strings.TrimSuffix(filepath.Base(path), ".yaml"),
			sections: map[string]string{}}
		if at := s.read(string(text)); at != "" {
			t.Fatalf("%s: unknown comment %q", path, at)
		}
		all = append(all, s)
	}
	return all
}

// read reads a situation, and returns a line that it does not know.
func (s *situation) read(text string) (unknown string) {
	at := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "APP", s.name)) {
		trimmed := strings.TrimSuffix(line, "\n")
		if m := section.FindStringSubmatch(trimmed); m != nil {
			at = m[1]
			continue
		}
		m := told.FindStringSubmatch(trimmed)
		if at != "" || m == nil {
			s.sections[at] += line
			continue
		}
		switch value := m[2]; m[1] {
		case "first":
			s.first = append(s.first, value)
		case "says":
			s.says = append(s.says, value)
		case "never":
			s.never = append(s.never, value)
		case "good":
			s.good = value
		case "retry":
			s.retry, _ = strconv.Atoi(value)
		case "sync":
			s.unasked = value == "no"
		case "wait":
			s.wait = value
		case "ask":
			s.ask = value
		case "next":
			s.next = value
		case "delete":
			s.before = append(s.before, value)
		case "remove":
			s.gone = append(s.gone, value)
		default:
			return trimmed
		}
	}
	return ""
}

// objects are those of a section.
func (s *situation) objects(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	objs, err := parse(s.sections[name])
	if err != nil {
		t.Errorf("%s, section %s: %v", s.name, name, err)
	}
	for _, obj := range objs {
		if obj.GetNamespace() == "" && !slices.Contains(clusterScoped, obj.GetKind()) {
			obj.SetNamespace(s.name)
		}
	}
	return objs
}

// clusterScoped are the kinds without a namespace in testdata.
var clusterScoped = []string{
	"Namespace", "CustomResourceDefinition", "APIService", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
	"StorageClass", "IngressClass",
	"PriorityClass", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"PersistentVolume", "RuntimeClass",
}

// settle puts what is only known now into the texts.
func (s *situation) settle(server, repository string) error {
	host := "guard." + s.name + ".svc"
	own, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return err
	}
	another, _, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return err
	}
	put := strings.NewReplacer("SERVER", server, "REPO", repository, "LONG", strings.Repeat("long ", 60000),
		"CERTIFICATE", strconv.Quote(string(own)), "PRIVATE", strconv.Quote(string(key)),
		"OWN", base64.StdEncoding.EncodeToString(own), "ANOTHER", base64.StdEncoding.EncodeToString(another))
	for name, text := range s.sections {
		s.sections[name] = put.Replace(text)
	}
	return nil
}

// files are those of the repository, at first or in the second commit.
func (s *situation) files(app string) map[string]string {
	files := map[string]string{"app/all.yaml": s.sections[app]}
	for name, text := range s.sections {
		if !slices.Contains([]string{"", "world", "app", "next", "play", "application"}, name) {
			files[name+"/all.yaml"] = text
		}
	}
	return files
}

// application is the Application with the fields of its section.
func (s *situation) application(obj *unstructured.Unstructured) error {
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(s.sections["application"]), &fields); err != nil {
		return err
	}
	merge(obj.Object, fields)
	return nil
}

func merge(into, from map[string]any) {
	for key, value := range from {
		inner, isMap := value.(map[string]any)
		if old, ok := into[key].(map[string]any); ok && isMap {
			merge(old, inner)
			continue
		}
		into[key] = value
	}
}

// documents splits a YAML text.
func documents(text string) []string { return regexp.MustCompile(`(?m)^---$`).Split(text, -1) }
