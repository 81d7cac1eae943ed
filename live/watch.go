package live

import (
	"fmt"
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

// Watch prints the positions of a sync as it goes on. The zero value has seen nothing.
type Watch struct {
	at    string // the position, and what it waits for
	since int64
}

// See returns what is new in a snapshot, and whether the sync has ended.
func (w *Watch) See(snap Snapshot) (lines []string, ended bool) {
	s := newScene(snap, nil)
	app := s.objects[snap.Application]
	op := readOperation(app)
	at := op.phase
	if place := s.place(app, op).String(); place != "" && op.isRunning() {
		at = place
	}
	switch {
	case op.isRetrying():
		at = fmt.Sprintf("failed, and waits for retry %d", op.retries)
	case op.phase == "" && !op.isAsked:
		return nil, true
	}
	names := awaitedNames(op)
	if names != "" {
		at += ": waits for " + names
	}
	if at != w.at {
		if w.at != "" {
			lines = append(lines, fmt.Sprintf("  after %s", duration(snap.Now-w.since)))
		}
		lines = append(lines, at)
		w.at, w.since = at, snap.Now
	}
	return lines, op.phase != running && op.phase != terminating && !op.isAsked
}

// awaitedNames lists what a running sync waits for, the first three by name.
func awaitedNames(op operation) string {
	if !op.isRunning() {
		return ""
	}
	var names []string
	seen := map[object.ID]bool{}
	for _, e := range op.awaited() {
		if !seen[e.id] {
			seen[e.id] = true
			names = append(names, e.id.String())
		}
	}
	const most = 3
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}
