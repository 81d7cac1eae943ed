package cluster

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// AuditLog is the file in which an API server logs what it was asked, by [AuditPolicy]:
// every write, and what ServiceAccounts read. Reads of those in kube-system, most of
// them controllers of Kubernetes, are left out. A watch is logged when it begins.
type AuditLog string

// AuditPolicy says what the API server logs of requests.
//
//go:embed audit-policy.yaml
var AuditPolicy []byte

// Event is a request that the API server has answered, most often a write.
type Event struct {
	Time        time.Time       // when it was answered, to the microsecond
	Verb        string          // create, update, patch, delete or deletecollection; get, list or watch
	Group       string          // API group, empty for the core group
	Version     string          // API version
	Resource    string          // plural name, such as deployments
	Subresource string          // such as status, or empty
	Namespace   string          // empty for what has none
	Name        string          // empty where the API server chose it
	User        string          // [Admin] or [ArgoCD], or a system: user, such as a ServiceAccount
	UserAgent   string          // as the client called itself
	Code        int             // HTTP status of the answer
	Message     string          // why it was refused, where it was
	DryRun      bool            // changes nothing
	Body        json.RawMessage // the object or the patch that was sent; none for CRDs and reads
}

// IsRead reports whether the request changes nothing.
func (e Event) IsRead() bool { return e.Verb == "get" || e.Verb == "list" || e.Verb == "watch" }

// OK reports whether the request was accepted.
func (e Event) OK() bool { return e.Code >= 200 && e.Code < 300 }

// String formats it as one readable line.
func (e Event) String() string {
	resource := e.Resource
	if e.Group != "" {
		resource += "." + e.Group
	}
	if e.Subresource != "" {
		resource += "/" + e.Subresource
	}
	name := strings.TrimPrefix(e.Namespace+"/"+e.Name, "/")
	line := fmt.Sprintf("%s %s %s %s by %s: %d", e.Time.Format("15:04:05.000000"), e.Verb, resource, name, e.User, e.Code)
	if e.DryRun {
		line += " (dry run)"
	}
	if e.Message != "" {
		line += " " + e.Message
	}
	return line
}

// Filter selects events. A zero field matches all of them.
type Filter struct {
	After       Mark     // only what came after
	Users       []string // any of these users
	Verbs       []string // any of these verbs
	Groups      []string // any of these groups; "" is the core group
	Resources   []string // any of these resources
	Namespaces  []string // any of these namespaces; "" is no namespace
	Name        string
	DryRun      bool // dry runs too
	Refused     bool // refused requests too
	Reads       bool // reads too
	Subresource bool // requests for subresources too, such as a status
}

// Mark is a moment of the audit log.
type Mark int64

// Mark is the present moment: every request answered so far lies before it.
func (l AuditLog) Mark() (Mark, error) {
	info, err := os.Stat(string(l))
	if err != nil {
		return 0, fmt.Errorf("reading the audit log: %w", err)
	}
	return Mark(info.Size()), nil
}

// Events reads the requests of the filter from the audit log, in the order in
// which they were answered. The log is written before a client has its answer,
// so a write that has returned is in it.
func (l AuditLog) Events(f Filter) ([]Event, error) {
	log, err := os.Open(string(l))
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer log.Close()
	if _, err := log.Seek(int64(f.After), io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	events, err := parseAudit(log, f)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log %s: %w", l, err)
	}
	return events, nil
}

// Applied reads the first successful write of each object by a user, in order:
// when each object was first applied.
func (l AuditLog) Applied(after Mark, user string) ([]Event, error) {
	events, err := l.Events(Filter{After: after, Users: []string{user}, Verbs: []string{"create", "update", "patch"}})
	if err != nil {
		return nil, err
	}
	seen := map[[4]string]bool{}
	return slices.DeleteFunc(events, func(e Event) bool {
		key := [4]string{e.Group, e.Resource, e.Namespace, e.Name}
		again := seen[key]
		seen[key] = true
		return again
	}), nil
}

func parseAudit(r io.Reader, f Filter) ([]Event, error) {
	var events []Event
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break // a line without its end is still being written
		}
		if err != nil {
			return nil, err
		}
		var record auditRecord
		if err := json.Unmarshal(line, &record); err != nil {
			return nil, err
		}
		if event := record.event(); f.wants(event) {
			events = append(events, event)
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return events, nil
}

func (f Filter) wants(e Event) bool {
	among := func(list []string, value string) bool { return list == nil || slices.Contains(list, value) }
	return among(f.Users, e.User) && among(f.Verbs, e.Verb) && among(f.Groups, e.Group) &&
		among(f.Resources, e.Resource) && among(f.Namespaces, e.Namespace) &&
		(f.Name == "" || f.Name == e.Name) &&
		(f.DryRun || !e.DryRun) && (f.Reads || !e.IsRead()) && (f.Refused || e.OK()) && (f.Subresource || e.Subresource == "")
}

// auditRecord contains the fields of a line of the log (audit.k8s.io/v1 Event) that are read.
type auditRecord struct {
	Verb           string
	RequestURI     string
	UserAgent      string
	User           struct{ Username string }
	ObjectRef      struct{ APIGroup, APIVersion, Resource, Subresource, Namespace, Name string }
	ResponseStatus struct {
		Code    int
		Message string
	}
	RequestObject  json.RawMessage
	StageTimestamp time.Time
}

func (r auditRecord) event() Event {
	ref := r.ObjectRef
	return Event{
		Time: r.StageTimestamp, Verb: r.Verb,
		Group: ref.APIGroup, Version: ref.APIVersion, Resource: ref.Resource, Subresource: ref.Subresource,
		Namespace: ref.Namespace, Name: ref.Name,
		User: r.User.Username, UserAgent: r.UserAgent,
		Code: r.ResponseStatus.Code, Message: r.ResponseStatus.Message,
		DryRun: isDryRun(r), Body: r.RequestObject,
	}
}

// isDryRun looks where a dry run can be asked for: in the query, and in the
// body of a deletion.
func isDryRun(r auditRecord) bool {
	if uri, err := url.Parse(r.RequestURI); err == nil && uri.Query().Has("dryRun") {
		return true
	}
	var options struct{ DryRun []string }
	return strings.HasPrefix(r.Verb, "delete") && json.Unmarshal(r.RequestObject, &options) == nil && len(options.DryRun) > 0
}
