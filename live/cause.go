package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Evidence says how well a cause is shown. Later ones show more.
type Evidence int

const (
	// Appearance: only the state of the object, such as a missing address, shows it.
	Appearance Evidence = iota
	// Missing: an object that is needed does not exist.
	Missing
	// Condition: a controller says so in the status of the object.
	Condition
	// Event: a controller says so in an Event.
	Event
	// Refusal: the kubelet or the API server says so about this very object.
	Refusal
)

var evidenceNames = [...]string{"appearance", "missing object", "condition", "event", "refusal"}

func (e Evidence) String() string { return evidenceNames[e] }

// UnmarshalYAML reads the name.
func (e *Evidence) UnmarshalYAML(node *yaml.Node) error {
	*e = Evidence(slices.Index(evidenceNames[:], node.Value))
	if *e < 0 {
		return fmt.Errorf("unknown evidence %s", node.Value)
	}
	return nil
}

// MarshalJSON writes the name.
func (e Evidence) MarshalJSON() ([]byte, error) { return json.Marshal(e.String()) }

// Cause says why an object is not as Argo CD waits for it.
type Cause struct {
	// Rule is the stable name of the cause, such as "missing-object".
	Rule string
	// Object is the object whose state shows it.
	Object object.ID
	// Text continues a sentence that starts with the object, or with the one that owns it.
	Text string
	// Proof quotes what shows it.
	Proof    string
	Evidence Evidence
	// Because is the object that is behind it, if another one is: it is looked at next.
	Because object.ID
	// Fix starts with a verb, and Command is what to type for it.
	Fix, Command string
	// IsYoung means that this may be normal: it has not lasted long enough to blame anybody.
	IsYoung bool
}

// kubectl returns a command about an object.
func kubectl(verb string, id object.ID, more ...string) string {
	kind := strings.ToLower(id.Kind)
	if id.Group != "" && id.Group != appsGroup && id.Group != batchGroup {
		kind += "." + id.Group
	}
	words := []string{"kubectl", verb, kind, id.Name}
	switch verb {
	case "logs":
		words = []string{"kubectl", "logs", id.Name}
		if id.Kind != "Pod" {
			words[2] = kind + "/" + id.Name
		}
	}
	if id.Namespace != "" {
		words = append(words, "-n", id.Namespace)
	}
	return strings.Join(append(words, more...), " ")
}

// argocd returns a command of Argo CD's program about an Application.
func argocd(verb string, app object.ID, more ...string) string {
	name := app.Name
	if app.Namespace != "" && app.Namespace != "argocd" {
		name = app.Namespace + "/" + app.Name
	}
	return strings.Join(append([]string{"argocd", "app", verb, name}, more...), " ")
}

// mostQuoted limits what is quoted in a line.
const mostQuoted = 400

// quoted quotes what somebody else says, on one line and not too long.
func quoted(text string) string {
	return `"` + finding.CutMiddle(oneLine(text), mostQuoted) + `"`
}

// said formats a reason with a message.
func said(what, reason, message string) string {
	if message != "" {
		message = quoted(message)
	}
	return oneLine(fmt.Sprintf("%s %s %s", what, reason, message))
}
