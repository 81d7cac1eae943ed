// Package live says why a sync of Argo CD hangs or has failed.
//
// It gets a Snapshot, the objects of a cluster as values, and returns a Diagnosis. In between
// there are rules (rules.go): each looks at one object, or at one that is missing, and returns
// causes with their evidence. No rule sees what another one returns. Diagnose starts at what the
// sync waits for, follows the causes from object to object, and ranks the chains by evidence.
//
// Next says what else to read, so that a reader needs no knowledge of its own.
//
// The package is pure: objects in, a diagnosis out.
package live

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Snapshot is what is known of a cluster at one moment.
type Snapshot struct {
	// Now is the time of the snapshot, in seconds since 1970.
	Now int64
	// Application is the one to explain.
	Application object.ID
	// Objects are the objects that were read, Events included. Later ones replace earlier
	// ones of the same identity.
	Objects []object.Object
	// Absent are objects that the API server said do not exist.
	Absent []object.ID
	// IsExport means that the objects are a file, so that nothing else is known of the cluster.
	IsExport bool
	// Denied says what could not be read, each as the end of "it may not read …".
	Denied []string
	// Logs are the last lines of containers that crashed, by Pod and container.
	Logs map[Container]string
}

// Container is a container of a Pod.
type Container struct {
	Pod  object.ID
	Name string
}

// Groups of built-in kinds.
const (
	appsGroup    = "apps"
	batchGroup   = "batch"
	storageGroup = "storage.k8s.io"
	networkGroup = "networking.k8s.io"
)

// Time returns a time of the Kubernetes API, such as "2026-01-02T03:04:05Z", in seconds since
// 1970; 0 if it is none. Fractions are cut.
func Time(text string) int64 {
	if len(text) < len("2026-01-02T03:04:05Z") || text[len(text)-1] != 'Z' {
		return 0
	}
	var n [6]int64
	for i, at := range []int{0, 5, 8, 11, 14, 17} {
		width := 2
		if i == 0 {
			width = 4
		}
		v, err := strconv.ParseInt(text[at:at+width], 10, 64)
		if err != nil {
			return 0
		}
		n[i] = v
	}
	y, m := n[0], n[1]
	if m < 3 { // the year starts in March, so that a leap day is its last
		y, m = y-1, m+12
	}
	days := 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + n[2] - 719469
	return days*86400 + n[3]*3600 + n[4]*60 + n[5]
}

// event is an Event about an object.
type event struct {
	kind, reason, message string
	last                  int64
}

// scene is a snapshot with its indexes.
type scene struct {
	Snapshot
	base     *knowledge.Base
	objects  map[object.ID]object.Object
	absent   map[object.ID]bool
	children map[string][]object.ID // by the UID of the owner
	events   map[object.ID][]event  // the latest first
	// operations are those of the Applications that were asked for.
	operations map[object.ID]operation
	relations
}

func newScene(snap Snapshot, base *knowledge.Base) *scene {
	s := &scene{Snapshot: snap, base: base, objects: map[object.ID]object.Object{}, absent: map[object.ID]bool{},
		children: map[string][]object.ID{}, events: map[object.ID][]event{}, operations: map[object.ID]operation{}}
	for _, id := range snap.Absent {
		s.absent[id] = true
	}
	uids := map[object.ID][]string{}
	for _, o := range snap.Objects {
		if uid := uidOf(o); uid != "" && o.ID.Kind != "Event" {
			id := object.ID{Kind: o.ID.Kind, Namespace: o.ID.Namespace, Name: o.ID.Name}
			uids[id] = append(uids[id], uid)
		}
	}
	for _, o := range snap.Objects {
		if o.ID.Kind == "Event" {
			s.addEvent(o, uids)
			continue
		}
		if _, ok := s.objects[o.ID]; !ok {
			for _, owner := range o.Get("metadata", "ownerReferences").Items() {
				uid := owner.Get("uid").Text()
				s.children[uid] = append(s.children[uid], o.ID)
			}
		}
		s.objects[o.ID] = o
	}
	for _, all := range s.children {
		slices.SortFunc(all, compareIDs)
	}
	for _, all := range s.events {
		slices.SortStableFunc(all, func(x, y event) int { return cmp.Compare(y.last, x.last) })
	}
	return s
}

// isAbsent reports whether an object certainly does not exist: the API server said so, or an export
// has other classes of its kind.
func (s *scene) isAbsent(id object.ID) bool {
	if s.absent[id] {
		return true
	}
	if _, ok := s.objects[id]; ok || !s.IsExport || !strings.HasSuffix(id.Kind, "Class") || id.Name == "" {
		return false
	}
	return slices.ContainsFunc(s.Snapshot.Objects, func(o object.Object) bool { return o.ID.Kind == id.Kind && o.ID.Group == id.Group })
}

// addEvent files an Event under its object, without the group, which Events often lack.
func (s *scene) addEvent(o object.Object, uids map[object.ID][]string) {
	about := o.Get("involvedObject")
	if !about.Exists() {
		about = o.Get("regarding") // events.k8s.io/v1
	}
	id := object.ID{Kind: about.Get("kind").Text(), Namespace: about.Get("namespace").Text(), Name: about.Get("name").Text()}
	if id.Kind == "Node" || id.Kind == "Namespace" {
		id.Namespace = ""
	}
	e := event{kind: o.Get("type").Text(), reason: o.Get("reason").Text(),
		message: oneLine(cmp.Or(o.Get("message").Text(), o.Get("note").Text()))}
	e.last = Time(cmp.Or(o.Get("series", "lastObservedTime").Text(), o.Get("lastTimestamp").Text(), o.Get("eventTime").Text(),
		o.Get("firstTimestamp").Text()))
	if uid := about.Get("uid").Text(); uid != "" && len(uids[id]) > 0 && !slices.Contains(uids[id], uid) {
		return // about an earlier object of the same name, such as a Job that was created again
	}
	s.events[id] = append(s.events[id], e)
}

// eventsOf returns the Events about an object with one of the reasons; all without reasons.
func (s *scene) eventsOf(id object.ID, reasons ...string) (all []event) {
	id.Group = ""
	for _, e := range s.events[id] {
		if len(reasons) == 0 || slices.Contains(reasons, e.reason) {
			all = append(all, e)
		}
	}
	return all
}

// age returns how many seconds ago something happened; 0 if that is unknown.
func (s *scene) age(at string) int64 {
	if t := Time(at); t > 0 && t < s.Now {
		return s.Now - t
	}
	return 0
}

// created returns the age of an object.
func (s *scene) created(o object.Object) int64 {
	return s.age(o.Get("metadata", "creationTimestamp").Text())
}

// owned returns the objects of a kind that an object owns; of any kind if it is empty.
func (s *scene) owned(o object.Object, kind string) (all []object.Object) {
	for _, id := range s.children[uidOf(o)] {
		if kind == "" || id.Kind == kind {
			all = append(all, s.objects[id])
		}
	}
	return all
}

// condition is a condition of a status.
type condition struct{ kind, status, reason, message, since string }

func conditionsOf(o object.Object) (all []condition) {
	var items []object.Value
	for _, part := range slices.Concat(o.Get("status", "listeners").Items(),
		o.Get("status", "parents").Items()) { // of a Gateway and its routes: they say more
		items = append(items, part.Get("conditions").Items()...)
	}
	for _, c := range append(items, o.Get("status", "conditions").Items()...) {
		all = append(all, condition{c.Get("type").Text(), c.Get("status").Text(), c.Get("reason").Text(),
			oneLine(c.Get("message").Text()), c.Get("lastTransitionTime").Text()})
	}
	return all
}

// conditionOf returns the condition of a type.
func conditionOf(o object.Object, kind string) condition {
	for _, c := range conditionsOf(o) {
		if c.kind == kind {
			return c
		}
	}
	return condition{}
}

func uidOf(o object.Object) string { return o.Get("metadata", "uid").Text() }

func isTerminating(o object.Object) bool { return o.Get("metadata", "deletionTimestamp").Exists() }

// number reads a number, which some kinds write as a text.
func number(v object.Value, otherwise int) int {
	if n, err := strconv.Atoi(v.Text()); err == nil {
		return n
	}
	return otherwise
}

func compareIDs(x, y object.ID) int { return strings.Compare(x.Qualified(), y.Qualified()) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
