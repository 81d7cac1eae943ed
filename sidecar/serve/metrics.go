package serve

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// registry returns a registry with metrics of the process and the program; the
// server adds its own.
func registry(version string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ladder_build_info", Help: "Always 1; the labels hold the version of the program.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()}})
	info.Set(1)
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// reloads counts changes of ladder.yaml, by whether they were accepted.
type reloads struct {
	changes *prometheus.CounterVec
	refused prometheus.Gauge // 1 while the file is invalid
}

func newReloads(to prometheus.Registerer) reloads {
	r := reloads{
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_reloads_total",
			Help: "Changes of the server's ladder.yaml, by result: used, or refused because it is invalid."}, []string{"result"}),
		prometheus.NewGauge(prometheus.GaugeOpts{Name: "ladder_config_refused",
			Help: "1 while the server's ladder.yaml is invalid or missing and the previous one stays in effect; otherwise 0."}),
	}
	for _, result := range []string{reloadUsed, reloadRefused} {
		r.changes.WithLabelValues(result)
	}
	to.MustRegister(r.changes, r.refused)
	return r
}

const (
	reloadUsed    = "used"
	reloadRefused = "refused"
)
