package worker

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/sidecar/task"
)

// metrics are the metrics of a Pool.
type metrics struct {
	started prometheus.Counter
	killed  *prometheus.CounterVec // by cause
}

func newMetrics(pool *Pool, to prometheus.Registerer) *metrics {
	m := &metrics{
		started: prometheus.NewCounter(prometheus.CounterOpts{Name: "ladder_workers_started_total", Help: "Started worker processes."}),
		killed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_workers_killed_total",
			Help: "Worker processes that ended before their work did, by cause: render-timeout, deadline (of the request), " +
				"canceled (the client gave up), yielded (preempted and restarted), memory, stack, crash."}, []string{"cause"}),
	}
	for _, c := range task.Causes {
		m.killed.WithLabelValues(string(c))
	}
	idle := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ladder_workers_idle",
		Help: "Worker processes that wait for work."}, func() float64 { return float64(pool.idleCount()) })
	to.MustRegister(m.started, m.killed, idle)
	return m
}

func (pool *Pool) idleCount() int {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	return len(pool.idle)
}
