package fetch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// metrics are the metrics of a Fetcher. Labels do not contain names of charts and
// repositories, which may be secret.
type metrics struct {
	requests *prometheus.CounterVec   // by kind and outcome
	seconds  *prometheus.HistogramVec // by kind
	bytes    *prometheus.CounterVec   // by kind
	retries  *prometheus.CounterVec   // by kind
	events   *prometheus.CounterVec   // by event of the cache
	running  prometheus.Gauge         // processes
	ended    *prometheus.CounterVec   // by cause
}

// cause is why a fetch process ended.
type cause string

const (
	memoryLimit cause = "memory"
	timeLimit   cause = "timeout"
	crash       cause = "crash"
)

// event is an event of the cache.
type event string

const (
	hit       event = "hit"
	miss      event = "miss"
	expired   event = "expired"
	shared    event = "shared"
	evicted   event = "evicted"
	corrupt   event = "corrupt"
	unwritten event = "unwritten"
)

// newMetrics registers the metrics of a Fetcher.
func newMetrics(size func() int64, waiting func() int, to prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_fetch_requests_total",
			Help: "Requested charts, files and repositories, by kind (chart, file, git) and outcome; " +
				"ok includes cache hits, cached is a cached copy that replaces a failure."}, []string{"kind", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ladder_fetch_seconds",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 14), // 10 ms to 82 s
			Help:    "Time of fetches that used the network, with their retries, by kind."}, []string{"kind"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_fetch_bytes_total",
			Help: "Downloaded bytes, by kind."}, []string{"kind"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_fetch_retries_total",
			Help: "Retried fetches, by kind."}, []string{"kind"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_fetch_cache_events_total",
			Help: "Uses of the cache on disk, by result: hit, miss, expired, shared (fetched once for several requests), evicted, corrupt, " +
				"unwritten (could not be written)."}, []string{"event"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ladder_fetch_processes", Help: "Processes that fetch now."}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_fetch_processes_killed_total",
			Help: "Processes that ended before their fetch did, by cause: memory (--remote-memory), timeout (--remote-timeout), crash."},
			[]string{"cause"}),
	}
	// All label values exist from the start, so that rates start at zero.
	for _, kind := range []remote.Kind{remote.Chart, remote.File, remote.Repository} {
		for _, o := range outcomes {
			m.requests.WithLabelValues(string(kind), string(o))
		}
		m.seconds.WithLabelValues(string(kind))
		m.bytes.WithLabelValues(string(kind))
		m.retries.WithLabelValues(string(kind))
	}
	for _, e := range []event{hit, miss, expired, shared, evicted, corrupt, unwritten} {
		m.events.WithLabelValues(string(e))
	}
	for _, c := range []cause{memoryLimit, timeLimit, crash} {
		m.ended.WithLabelValues(string(c))
	}
	if to != nil {
		to.MustRegister(m.requests, m.seconds, m.bytes, m.retries, m.events, m.running, m.ended,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ladder_fetch_waiting",
				Help: "Fetches that wait for one of the --remote-parallel places."},
				func() float64 { return float64(waiting()) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ladder_fetch_cache_bytes",
				Help: "Size of the cache on disk in bytes, as last measured by this process."},
				func() float64 { return float64(size()) }))
	}
	return m
}

func (m *metrics) observeDuration(kind remote.Kind, start time.Time) {
	m.seconds.WithLabelValues(string(kind)).Observe(time.Since(start).Seconds())
}

func (m *metrics) killed(why cause) { m.ended.WithLabelValues(string(why)).Inc() }
