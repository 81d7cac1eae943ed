package inputs

import (
	"context"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/report"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// Page returns the HTML report of the component in dir, and the findings of its rendering.
func (in *Component) Page(dir string) (page string, found []finding.Finding, err error) {
	page, err = with(in, dir, func(ctx context.Context, req plugin.Request, base *knowledge.Base) (string, error) {
		res, err := plugin.Generate(ctx, req, base)
		if err != nil {
			return "", err
		}
		found = res.Findings
		return report.Component{Ladder: report.LadderOf(req.DirName, res.Plan, res.Base, res.Findings)}.HTML()
	})
	return page, found, err
}
