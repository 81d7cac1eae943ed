package sidecar

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/task"
)

// metrics are the metrics of the server. Labels have few values: they contain
// nothing of a request, since there are thousands of Applications, and names may be
// secret.
type metrics struct {
	requests *prometheus.CounterVec   // by task and gRPC code
	seconds  *prometheus.HistogramVec // by task
	stages   *prometheus.HistogramVec // by stage
	lost     prometheus.Gauge         // whether the socket is missing
	waiting  prometheus.Gauge
	working  prometheus.Gauge
	cache    *prometheus.CounterVec // by event
	received prometheus.Counter
	answered prometheus.Counter
	known    prometheus.Counter
	measures *prometheus.HistogramVec // by what they measure
	remarks  *prometheus.CounterVec   // by severity
}

// stage is a stage of a request, for measuring time.
type stage string

const (
	receiving stage = "receive" // the repository is received and unpacked
	queueing  stage = "wait"    // waiting for a slot
	working   stage = "work"    // a task runs
	fetching  stage = "fetch"   // nothing runs until fetched content has arrived
)

func newMetrics() *metrics {
	seconds := prometheus.ExponentialBuckets(0.005, 2, 15) // 5 ms to 82 s
	return &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_requests_total",
			Help: "Completed requests from the repo-server, by task (generate, match, parameters) and gRPC code."}, []string{"task", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ladder_request_seconds", Buckets: seconds,
			Help: "Time from the first message of a request to its response."}, []string{"task"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ladder_stage_seconds", Buckets: seconds,
			Help: "Time that requests spend in a stage: receive (the repository), wait (for a worker), work (rendering), " +
				"fetch (remote sources; without a worker)."}, []string{"stage"}),
		lost: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ladder_socket_lost",
			Help: "1 while the socket is missing and cannot be recreated, so the repo-server cannot reach the server; otherwise 0."}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ladder_requests_waiting",
			Help: "Requests that have arrived and wait for a worker."}),
		working: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ladder_requests_working",
			Help: "Requests that a worker is processing."}),
		cache: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_cache_events_total",
			Help: "Cache lookups and evictions: served from the cache (hit), shared with a concurrent request (shared), computed (miss), " +
				"evicted for space (evicted) or age (expired)."}, []string{"event"}),
		received: prometheus.NewCounter(prometheus.CounterOpts{Name: "ladder_received_bytes_total",
			Help: "Bytes of repositories received, compressed."}),
		answered: prometheus.NewCounter(prometheus.CounterOpts{Name: "ladder_answered_bytes_total",
			Help: "Bytes of manifests sent."}),
		known: prometheus.NewCounter(prometheus.CounterOpts{Name: "ladder_repositories_known_total",
			Help: "Received repositories that were already in memory, by checksum, and were not unpacked again."}),
		measures: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ladder_answer_size",
			Buckets: prometheus.ExponentialBuckets(1, 2, 14), // 1 to 8192
			Help:    "Size of responses: the number of objects, and the number of their waves."}, []string{"of"}),
		remarks: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_findings_total",
			Help: "Findings about components that were rendered, by severity."}, []string{"severity"}),
	}
}

// register registers the metrics of a server. All label values exist from the
// start, so that rates start at zero.
func (m *metrics) register(s *server, to prometheus.Registerer) {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	to.MustRegister(m.requests, m.seconds, m.stages, m.lost, m.waiting, m.working, m.cache, m.received, m.answered,
		m.known, m.measures, m.remarks,
		gauge("ladder_renderings_aside", "Renderings that were preempted and now run in the background.",
			func() float64 { return float64(s.scheduler.backgroundCount()) }),
		gauge("ladder_cache_bytes", "Size of the cached responses in bytes.", func() float64 {
			bytes, _ := s.results.size()
			return float64(bytes)
		}),
		gauge("ladder_answers_sending_bytes", "Memory of the responses being sent in bytes, as limited by --answer-memory.",
			func() float64 { return float64(s.sender.bytes()) }),
		gauge("ladder_answers_waiting", "Responses that wait for memory before they can be sent.",
			func() float64 { return float64(s.sender.countWaiting()) }),
		gauge("ladder_cache_entries", "Number of cached responses.", func() float64 { _, n := s.results.size(); return float64(n) }),
		gauge("ladder_repository_bytes",
			"Memory of received repositories and of those being received in bytes, as limited by --repository-memory.",
			func() float64 { return float64(s.receiver.repositories.size()) }),
		gauge("ladder_repositories_waiting", "Repositories that wait for memory before or while they are received.",
			func() float64 { return float64(s.receiver.repositories.countWaiting()) }),
	)
	for _, event := range []cacheEvent{hit, shared, miss, evicted, expired} {
		m.cache.WithLabelValues(string(event))
	}
	for _, severity := range severities {
		m.remarks.WithLabelValues(severity)
	}
	for _, s := range []stage{receiving, queueing, working, fetching} {
		m.stages.WithLabelValues(string(s))
	}
	for _, t := range []task.Name{task.Generate, task.Match, task.Parameters} {
		for _, c := range responseCodes {
			m.requests.WithLabelValues(string(t), c.String())
		}
		m.seconds.WithLabelValues(string(t))
	}
}

// responseCodes are the expected status codes. Others are counted, too.
var responseCodes = []codes.Code{
	codes.OK,
	codes.InvalidArgument,   // the component is invalid
	codes.ResourceExhausted, // a limit was exceeded
	codes.DeadlineExceeded,
	codes.Canceled,    // the repo-server canceled the request
	codes.Unavailable, // no worker could be started, or the stream was interrupted
	codes.DataLoss,    // the repository was corrupted in transit
	codes.Internal,    // a bug in the plugin
}

// countCache counts a cache event.
func (m *metrics) countCache(e cacheEvent) { m.cache.WithLabelValues(string(e)).Inc() }

// setSocketLost records whether the socket is missing.
func (m *metrics) setSocketLost(lost bool) {
	if lost {
		m.lost.Set(1)
	} else {
		m.lost.Set(0)
	}
}

// observeStage records the duration of a stage since start.
func (m *metrics) observeStage(s stage, start time.Time) {
	m.stages.WithLabelValues(string(s)).Observe(time.Since(start).Seconds())
}

// observeRequest records the end of a request.
func (m *metrics) observeRequest(t task.Name, start time.Time, err error) {
	m.requests.WithLabelValues(string(t), status.Code(err).String()).Inc()
	m.seconds.WithLabelValues(string(t)).Observe(time.Since(start).Seconds())
}

// observeResponse records metrics of a response.
func (m *metrics) observeResponse(out task.Output) {
	for what, n := range out.Measures {
		m.measures.WithLabelValues(what).Observe(float64(n))
	}
	for _, manifest := range out.Manifests {
		m.answered.Add(float64(len(manifest)))
	}
	for _, r := range out.Remarks {
		m.remarks.WithLabelValues(severities[r.Level]).Inc()
	}
}

// severities maps levels of remarks to label values.
var severities = map[slog.Level]string{slog.LevelError: "error", slog.LevelWarn: "warning", slog.LevelInfo: "note"}
