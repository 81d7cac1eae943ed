package render

import (
	"context"
	"strings"
)

// helmKustomize renders the chart of a directory, and then the kustomization
// beside it with that as its first resource. What is asked for by values, name and
// the like goes to the chart.
func (s source) helmKustomize(ctx context.Context) (Result, error) {
	docs, chart, err := s.inflate(ctx)
	if err != nil {
		return Result{}, err
	}
	var text strings.Builder
	for _, d := range docs {
		d.print(&text)
	}
	res, err := s.build(ctx, text.String())
	res.Chart, res.Values, res.Inflated = chart.Chart, chart.Values, true
	res.Findings = append(chart.Findings, res.Findings...)
	return res, err
}
