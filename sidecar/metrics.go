package sidecar

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// metrics are what the server counts. Labels have a few values each: nothing of
// a request is one, since there are thousands of Applications, and names may be
// secret.
type metrics struct {
	requests *prometheus.CounterVec   // by task and gRPC code
	seconds  *prometheus.HistogramVec // by task
	stages   *prometheus.HistogramVec // by stage
	lost     prometheus.Gauge         // the socket
	waiting  prometheus.Gauge
	working  prometheus.Gauge
	cache    *prometheus.CounterVec // by event
	received prometheus.Counter
	answered prometheus.Counter
	known    prometheus.Counter
	measures *prometheus.HistogramVec // by what is measured
	remarks  *prometheus.CounterVec   // by severity
}

// stage is a part of the time that a request takes.
type stage string

const (
	receiving stage = "receive" // the repository arrives and is unpacked
	queueing  stage = "wait"    // for a place
	working   stage = "work"    // a task runs
	fetching  stage = "fetch"   // nothing runs, until what the task needs is there
)

// newMetrics registers the metrics of a server.
func newMetrics(s *server, to prometheus.Registerer) *metrics {
	seconds := prometheus.ExponentialBuckets(0.005, 2, 15) // 5 ms to 82 s
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_requests_total",
			Help: "Requests of the repo-server that were answered, by task (generate, match, parameters) and gRPC code."}, []string{"task", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ladder_request_seconds", Buckets: seconds,
			Help: "Time from the first message of a request to its answer."}, []string{"task"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ladder_stage_seconds", Buckets: seconds,
			Help: "Time that requests spend in a stage: receive (the repository arrives), wait (for a worker), work (it renders), fetch (what it needs comes from elsewhere; it has no worker then)."}, []string{"stage"}),
		lost: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ladder_socket_lost",
			Help: "1 while the socket is not at its path and cannot be made again there, so that the repo-server does not reach the server; else 0."}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ladder_requests_waiting",
			Help: "Requests that have arrived and wait for a worker."}),
		working: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ladder_requests_working",
			Help: "Requests that a worker is at."}),
		cache: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_cache_events_total",
			Help: "Answers given again (hit), shared between requests at the same time (shared), computed (miss), dropped for room (evicted) or age (expired)."}, []string{"event"}),
		received: prometheus.NewCounter(prometheus.CounterOpts{Name: "ladder_received_bytes_total",
			Help: "Bytes of repositories as they arrive, compressed."}),
		answered: prometheus.NewCounter(prometheus.CounterOpts{Name: "ladder_answered_bytes_total",
			Help: "Bytes of manifests."}),
		known: prometheus.NewCounter(prometheus.CounterOpts{Name: "ladder_repositories_known_total",
			Help: "Repositories that arrived while the same one, by its checksum, was in memory, and were not unpacked again."}),
		measures: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ladder_answer_size", Buckets: prometheus.ExponentialBuckets(1, 2, 14), // 1 to 8192
			Help: "Size of answers: objects, and waves that they are in."}, []string{"of"}),
		remarks: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_findings_total",
			Help: "Findings about components that were rendered, by severity."}, []string{"severity"}),
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	to.MustRegister(m.requests, m.seconds, m.stages, m.lost, m.waiting, m.working, m.cache, m.received, m.answered, m.known, m.measures, m.remarks,
		gauge("ladder_renderings_aside", "Renderings that take long and have stepped aside for others, with which they go on at the same time.", func() float64 { return float64(s.places.besides()) }),
		gauge("ladder_cache_bytes", "Bytes of the answers that are remembered.", func() float64 { bytes, _ := s.results.size(); return float64(bytes) }),
		gauge("ladder_answers_sending_bytes", "Bytes of memory that answers on their way take, as --answer-memory counts.", func() float64 { return float64(s.sending.bytes.Load()) }),
		gauge("ladder_answers_waiting", "Answers that wait for memory before they are sent.", func() float64 { return float64(s.sending.waiting.Load()) }),
		gauge("ladder_cache_entries", "Answers that are remembered.", func() float64 { _, n := s.results.size(); return float64(n) }),
		gauge("ladder_repository_bytes", "Bytes of memory that repositories take, as --repository-memory counts: those that are there, and those that arrive, as far as they have.", func() float64 { return float64(s.repositories.size()) }),
		gauge("ladder_repositories_waiting", "Repositories that wait for memory, before they arrive or while they do.", func() float64 { return float64(s.repositories.short()) }),
	)
	// All values of a label are there from the start, so that a rate has a zero
	// to rise from.
	for _, event := range []cacheEvent{hit, shared, miss, evicted, expired} {
		m.cache.WithLabelValues(string(event))
	}
	for _, severity := range severities {
		m.remarks.WithLabelValues(severity)
	}
	for _, s := range []stage{receiving, queueing, working, fetching} {
		m.stages.WithLabelValues(string(s))
	}
	for _, t := range []task{generate, match, parameters} {
		for _, c := range answerCodes {
			m.requests.WithLabelValues(string(t), c.String())
		}
		m.seconds.WithLabelValues(string(t))
	}
	return m
}

// answerCodes are the codes that requests are answered with. Others would be
// counted, too.
var answerCodes = []codes.Code{
	codes.OK,
	codes.InvalidArgument,   // the component is at fault
	codes.ResourceExhausted, // a limit was reached
	codes.DeadlineExceeded,
	codes.Canceled,    // the repo-server gave up
	codes.Unavailable, // no worker could be started, or the stream broke
	codes.DataLoss,    // the repository arrived damaged
	codes.Internal,    // the plugin is at fault
}

// took notes the time that a stage took since start.
func (m *metrics) took(s stage, start time.Time) {
	m.stages.WithLabelValues(string(s)).Observe(time.Since(start).Seconds())
}

// ended notes the end of a request.
func (m *metrics) ended(t task, start time.Time, err error) {
	m.requests.WithLabelValues(string(t), status.Code(err).String()).Inc()
	m.seconds.WithLabelValues(string(t)).Observe(time.Since(start).Seconds())
}

// gave notes what an answer holds.
func (m *metrics) gave(out Output) {
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

// severities are what the levels of remarks are called in metrics.
var severities = map[slog.Level]string{slog.LevelError: "error", slog.LevelWarn: "warning", slog.LevelInfo: "note"}

// workerMetrics are what Workers count.
type workerMetrics struct {
	started prometheus.Counter
	killed  *prometheus.CounterVec // by cause
}

func newWorkerMetrics(w *Workers, to prometheus.Registerer) *workerMetrics {
	m := &workerMetrics{
		started: prometheus.NewCounter(prometheus.CounterOpts{Name: "ladder_workers_started_total", Help: "Worker processes that were started."}),
		killed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_workers_killed_total",
			Help: "Worker processes that ended before their work did, by cause: render-timeout, deadline (of the request), canceled (the client gave up), yielded (others went first, and it began again), memory, stack, crash."}, []string{"cause"}),
	}
	for _, c := range causes {
		m.killed.WithLabelValues(string(c))
	}
	to.MustRegister(m.started, m.killed, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ladder_workers_idle", Help: "Worker processes that wait for work."},
		func() float64 {
			w.mu.Lock()
			defer w.mu.Unlock()
			return float64(len(w.idle))
		}))
	return m
}
