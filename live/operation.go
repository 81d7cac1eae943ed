package live

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

// Phases of an operation (argo-cd, gitops-engine/pkg/sync/common/types.go).
const (
	running     = "Running"
	terminating = "Terminating"
	failed      = "Failed"
	faulty      = "Error"
	succeeded   = "Succeeded"
)

// entry is an object in the result of a sync.
type entry struct {
	id object.ID
	// phase is the phase of the sync, status the result of the apply, and state that of the
	// object: Running while the sync waits for it, whether it is a hook or not.
	phase, status, state, message string
	version                       string // of its kind
	hook                          bool
}

// hasFailed reports whether the entry failed the sync.
func (e entry) hasFailed() bool {
	return e.status == "SyncFailed" || e.state == failed || e.state == faulty
}

// operation is what an Application says about its last sync.
type operation struct {
	phase, message    string
	started, finished int64
	retries, limit    int
	entries           []entry
	resources         []resource // of the Application
	isSelective       bool
	// isAsked is false if nobody continues the operation, because the request is gone.
	isAsked bool
	// revision is what is synced, and newest what the repository has, as of the last comparison.
	revision, newest string
}

// operationOf returns the operation of an Application, which is read once.
func (s *scene) operationOf(app object.Object) operation {
	op, ok := s.operations[app.ID]
	if !ok {
		op = readOperation(app)
		s.operations[app.ID] = op
	}
	return op
}

// resourcesOf returns the objects of an Application.
func (s *scene) resourcesOf(app object.Object) []resource { return s.operationOf(app).resources }

func readOperation(app object.Object) operation {
	state := app.Get("status", "operationState")
	sync := state.Get("operation", "sync")
	op := operation{
		phase: state.Get("phase").Text(), message: oneLine(state.Get("message").Text()),
		started: Time(state.Get("startedAt").Text()), finished: Time(state.Get("finishedAt").Text()),
		retries: number(state.Get("retryCount"), 0), limit: number(state.Get("operation", "retry", "limit"), 0),
		isSelective: len(sync.Get("resources").Items()) > 0,
		isAsked:     app.Get("operation").Exists(),
		revision:    revisionOf(state.Get("syncResult")), newest: revisionOf(app.Get("status", "sync")),
	}
	op.revision = cmp.Or(op.revision, revisionOf(sync))
	op.resources = readResources(app)
	clusterScoped := map[object.ID]bool{}
	for _, r := range op.resources {
		clusterScoped[r.id] = r.id.Namespace == ""
	}
	for _, r := range state.Get("syncResult", "resources").Items() {
		id := object.ID{Group: r.Get("group").Text(), Kind: r.Get("kind").Text(), Namespace: r.Get("namespace").Text(),
			Name: r.Get("name").Text()}
		// Argo CD writes the namespace of the destination also where there is none.
		if anywhere := (object.ID{Group: id.Group, Kind: id.Kind, Name: id.Name}); clusterScoped[anywhere] {
			id = anywhere
		}
		op.entries = append(op.entries, entry{
			id: id, version: r.Get("version").Text(),
			phase: cmp.Or(r.Get("syncPhase").Text(), "Sync"), status: r.Get("status").Text(), state: r.Get("hookPhase").Text(),
			message: oneLine(r.Get("message").Text()), hook: r.Get("hookType").Text() != "",
		})
	}
	return op
}

func revisionOf(v object.Value) string {
	if one := v.Get("revision").Text(); one != "" {
		return one
	}
	var all []string
	for _, r := range v.Get("revisions").Items() {
		all = append(all, r.Text())
	}
	return strings.Join(all, ",")
}

// isRetrying reports whether the operation waits for its next attempt.
func (op operation) isRetrying() bool { return op.phase == running && op.finished > 0 }

// isRunning reports whether an attempt runs.
func (op operation) isRunning() bool { return op.phase == running && op.finished == 0 }

// hasFailed reports whether the last attempt failed.
func (op operation) hasFailed() bool {
	return op.phase == failed || op.phase == faulty || op.isRetrying()
}

// awaited returns the entries that the sync waits for or failed at. After a success, entries of
// the last wave stay Running, because nothing waits for them.
func (op operation) awaited() (all []entry) {
	for _, e := range op.entries {
		if op.isRunning() && e.state == running || op.hasFailed() && e.hasFailed() || op.isRunning() && e.hasFailed() {
			all = append(all, e)
		}
	}
	return all
}

// resource is an entry of an Application's status.resources.
type resource struct {
	id             object.ID
	status, health string
	wave           int
	hook, prune    bool
}

func readResources(app object.Object) (all []resource) {
	for _, r := range app.Get("status", "resources").Items() {
		wave, _ := strconv.Atoi(r.Get("syncWave").Text())
		all = append(all, resource{
			id: object.ID{Group: r.Get("group").Text(), Kind: r.Get("kind").Text(), Namespace: r.Get("namespace").Text(),
				Name: r.Get("name").Text()},
			status: r.Get("status").Text(), health: r.Get("health", "status").Text(),
			wave: wave, hook: r.Get("hook").True(), prune: r.Get("requiresPruning").True(),
		})
	}
	return all
}

// waveOf returns the wave of an object of an Application: that of the live object, or that of
// the status. Hooks that do not exist yet are in neither before Argo CD 3.4.
func (s *scene) waveOf(app object.Object, id object.ID) (wave int, known bool) {
	if o, ok := s.objects[id]; ok {
		wave, _ := o.Wave()
		return wave, true
	}
	for _, r := range s.resourcesOf(app) {
		if r.id == id {
			return r.wave, true
		}
	}
	return 0, false
}

// position is where a sync is.
type position struct {
	Phase string `json:"phase"`
	Wave  int    `json:"wave"`
	// Number counts the waves of phase Sync from 1; 0 if it is unknown. Of is how many there are.
	Number int `json:"number,omitempty"`
	Of     int `json:"of,omitempty"`
}

// positionOf returns the position of an entry.
func (s *scene) positionOf(app object.Object, e entry) position {
	wave, _ := s.waveOf(app, e.id)
	p := position{Phase: e.phase, Wave: wave}
	if e.phase == string(object.Sync) {
		waves := s.wavesOf(app)
		if i, ok := slices.BinarySearch(waves, wave); ok {
			p.Number, p.Of = i+1, len(waves)
		}
	}
	return p
}

// wavesOf returns the waves of phase Sync, sorted.
func (s *scene) wavesOf(app object.Object) (waves []int) {
	for _, r := range s.resourcesOf(app) {
		if !r.hook && !r.prune {
			wave, _ := s.waveOf(app, r.id)
			waves = append(waves, wave)
		}
	}
	slices.Sort(waves)
	return slices.Compact(waves)
}

// later returns what the running sync of an Application applies only after what it waits for: it has
// no entry, and is not in the cluster.
func (s *scene) later(app object.Object) (all []resource) {
	op := s.operationOf(app)
	if !op.isRunning() && !op.hasFailed() {
		return nil
	}
	begun := map[object.ID]bool{}
	for _, e := range op.entries {
		begun[e.id] = true
	}
	for _, r := range op.resources {
		if _, exists := s.objects[r.id]; !exists && !begun[r.id] && r.status != "Synced" {
			all = append(all, r)
		}
	}
	return all
}
