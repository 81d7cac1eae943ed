package double

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ladder-cmp/ladder/e2e/cluster"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// UserAgent is the user agent of the double in the audit log.
const UserAgent = "cluster-double"

// Options configure a double. The zero value is usable.
type Options struct {
	// Seed chooses the delays; the same seed, the same delays.
	Seed uint64
	// MinDelay and MaxDelay bound how long an object takes from the moment all it
	// needs is there until it is healthy. Zero: 100 and 400 milliseconds.
	MinDelay, MaxDelay time.Duration
	// Backoff is the pause after the first failure of a Job's Pod; it doubles with
	// each. Zero: 200 milliseconds.
	Backoff time.Duration
	// DefaultClass is how the default StorageClass binds, which the double makes
	// if it is not empty: WaitForFirstConsumer or Immediate.
	DefaultClass string
	// OLM simulates the Operator Lifecycle Manager, as on OpenShift.
	OLM bool
	// Network routes the API server's connections to Services to the double.
	// Without it webhooks and aggregated APIs are never reached.
	Network interface{ Route(cluster.DialFunc) }
	// Scenario always applies; see also [Double.Play].
	Scenario Scenario
	// Log receives every step, and every waiting object with its reason. If it is nil,
	// nothing is logged.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.MaxDelay == 0 {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, 400*time.Millisecond
	}
	if o.Backoff == 0 {
		o.Backoff = 200 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Double is a running cluster double.
type Double struct {
	opt      Options
	client   dynamic.Interface
	watch    *watch
	stub     *stub
	records  []Record
	programs []program
	wake     chan struct{}
	stop     context.CancelFunc
	stopped  chan struct{}

	// Of the loop alone.
	pace   pace
	served map[types.UID]int64 // generation of custom resources, and of what makes things, that is done
	tries  map[types.UID]int   // failed Pods of Jobs
	acted  map[string]string   // what was done last, and to which version of the object

	mu        sync.Mutex
	scenarios scenarios
	waits     map[Ref]Wait
	troubles  map[Ref]string // what the API server refused last
}

// Wait is an object that is not healthy yet.
type Wait struct {
	Of    Ref
	Why   string
	Since time.Time // since when for this reason
}

// String formats it as one readable line.
func (w Wait) String() string { return fmt.Sprintf("%s waits: %s", w.Of, w.Why) }

// Start runs a double until it is stopped or the context ends. When it returns, it has
// read the cluster and created what every namespace has.
func Start(ctx context.Context, config *rest.Config, opt Options) (*Double, error) {
	opt = opt.withDefaults()
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS = UserAgent, -1
	records, err := builtinRecords()
	if err != nil {
		return nil, err
	}
	programs, err := builtinPrograms()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	d := &Double{
		opt: opt, records: records, programs: programs, wake: make(chan struct{}, 1), stop: stop, stopped: make(chan struct{}),
		pace:   pace{seed: opt.Seed, min: opt.MinDelay, max: opt.MaxDelay, since: map[stepKey]time.Time{}},
		served: map[types.UID]int64{}, tries: map[types.UID]int{}, acted: map[string]string{},
		scenarios: scenarios{&opt.Scenario}, waits: map[Ref]Wait{}, troubles: map[Ref]string{},
	}
	if d.client, err = dynamic.NewForConfig(config); err == nil {
		d.watch, err = newWatch(ctx, config, d.changed, opt.Log)
	}
	if err == nil {
		d.stub, err = newStub()
	}
	if err == nil && opt.DefaultClass != "" {
		err = d.makeDefaultClass(ctx)
	}
	if err == nil && opt.OLM {
		err = d.installOLM(ctx)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("starting the cluster double: %w", err)
	}
	if opt.Network != nil {
		opt.Network.Route(d.stub.dial)
	}
	d.reconcile(ctx)
	go d.run(ctx)
	return d, nil
}

// Stop ends the double. What it has done to the cluster stays.
func (d *Double) Stop() {
	d.stop()
	<-d.stopped
	if d.opt.Network != nil {
		d.opt.Network.Route(nil)
	}
	d.stub.close()
}

// Play adds a scenario to the active ones; calling end removes it again. This lets
// several tests share one double, each with its own scenario.
func (d *Double) Play(s Scenario) (end func()) {
	d.mu.Lock()
	d.scenarios = append(slices.Clone(d.scenarios), &s)
	d.mu.Unlock()
	d.changed()
	return func() {
		d.mu.Lock()
		d.scenarios = slices.DeleteFunc(slices.Clone(d.scenarios), func(other *Scenario) bool { return other == &s })
		d.mu.Unlock()
		d.changed()
	}
}

// Waiting returns the objects that are not healthy yet, with the reasons, sorted by namespace.
func (d *Double) Waiting() []Wait {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []Wait
	for _, w := range d.waits {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Wait) int { return a.Of.compare(b.Of) })
	return all
}

// changed asks for a turn.
func (d *Double) changed() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// run takes turns: one when something has changed, one when something is due.
func (d *Double) run(ctx context.Context) {
	defer close(d.stopped)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
			// Changes come in bursts, and one turn handles all of them.
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return
			}
		case <-timer.C:
		}
		d.reconcile(ctx)
		if !d.pace.next.IsZero() {
			timer.Reset(max(time.Until(d.pace.next), 5*time.Millisecond))
		}
	}
}

func (d *Double) reconcile(ctx context.Context) {
	d.watch.follow(ctx)
	t := d.reconciliation(time.Now())
	d.act(ctx, t)
	d.recordWaits(t)
}

// reconciliation reads the state of the cluster and decides what to do.
func (d *Double) reconciliation(now time.Time) *reconciliation {
	d.pace.now, d.pace.next = now, time.Time{}
	d.mu.Lock()
	t := &reconciliation{
		world: d.watch.world(), scenarios: d.scenarios, records: d.records, programs: d.programs, pace: &d.pace,
		backoff: d.opt.Backoff, stub: d.stub,
		served: d.served, tries: d.tries, waits: map[Ref]string{}, serving: map[Ref]string{}, controllers: map[kind]string{},
	}
	d.mu.Unlock()
	t.decide()
	d.stub.learn(t.world, t.routes())
	return t
}

// act does what was decided, a few things at a time.
func (d *Double) act(ctx context.Context, t *reconciliation) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(8)
	troubles := map[Ref]string{}
	// An action is not repeated until its effect is visible, or some time has passed.
	mayAct := func(key string, again stepKey, version string) bool {
		mu.Lock()
		defer mu.Unlock()
		return version == "" || d.acted[key] != version || d.pace.passed(again, time.Second)
	}
	for _, a := range t.actions {
		key := a.on.String() + "/" + a.on.Group + "/" + a.what
		again := stepKey{name: "again/" + key}
		if !mayAct(key, again, a.version) {
			continue
		}
		group.Go(func() error {
			err := a.do(ctx, d.client)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				if ctx.Err() == nil {
					troubles[a.on] = fmt.Sprintf("cannot %s: %v", a.what, err)
				}
				return nil
			}
			d.acted[key] = a.version
			d.pace.forget(again)
			d.pace.passed(again, time.Second)
			if a.done != nil {
				a.done()
			}
			if !a.quiet {
				d.opt.Log.Info(fmt.Sprintf("%s: %s", a.on, a.what))
			}
			return nil
		})
	}
	group.Wait()
	if len(troubles) > 0 {
		d.pace.wake(time.Now().Add(300 * time.Millisecond))
	}
	d.mu.Lock()
	d.troubles = troubles
	d.mu.Unlock()
}

// recordWaits records what waits, and logs objects that have started to wait or wait for
// a different reason.
func (d *Double) recordWaits(t *reconciliation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	waits := map[Ref]Wait{}
	for of, why := range t.waits {
		waits[of] = Wait{Of: of, Why: why, Since: d.pace.now}
	}
	for of, why := range d.troubles {
		waits[of] = Wait{Of: of, Why: why, Since: d.pace.now}
	}
	for of, w := range waits {
		if before, known := d.waits[of]; known && before.Why == w.Why {
			waits[of] = before
			continue
		}
		d.opt.Log.Info(w.String())
	}
	d.waits = waits
}
