package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ladder-cmp/ladder/fleet/children"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/random"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// memoryBytes is the size of a worker's cache for decoded texts. A worker renders
// different components in turn.
const memoryBytes = 8 << 20

// cachedKeys is the number of private keys and hashes that a worker caches, some kilobytes
// each.
const cachedKeys = 64

// tasks are the tasks of Ladder's plugin server. They implement task.Runner.
type tasks struct {
	base   *knowledge.Base
	memory *input.Memory // nil without a cache
	keys   *random.Keys
	lines  *libraryLines
}

// newTasks returns the tasks of Ladder's plugin server. With cache, they cache decoded
// documents, schemas and private keys. Lines that libraries log become remarks.
func newTasks(base *knowledge.Base, cache bool, lines *libraryLines) *tasks {
	t := &tasks{base: base, lines: lines}
	if cache {
		t.memory, t.keys = input.NewMemory(memoryBytes), random.NewKeys(cachedKeys)
	}
	return t
}

// Run runs a task, in a worker one at a time.
func (t *tasks) Run(ctx context.Context, name task.Name, in task.Input) (task.Response, error) {
	switch name {
	case task.Generate:
		t.lines.take()
		out, err := t.generate(ctx, in)
		for _, line := range t.lines.take() {
			out.Remarks = append(out.Remarks, task.Remark{Level: slog.LevelWarn, Text: line})
		}
		return task.Response{Output: out}, err
	case task.Match:
		matched, err := plugin.Detect(in.Repo, in.Dir)
		return task.Response{Matched: matched}, err
	}
	return task.Response{}, fmt.Errorf("unknown task %q", name)
}

// generate returns the response to a request for manifests.
func (t *tasks) generate(ctx context.Context, in task.Input) (task.Output, error) {
	var part *plugin.Part
	in.Repo, in.Dir, part = plugin.Whole(in.Repo, in.Dir, in.Env)
	req, err := plugin.FromEnvironment(in.Repo, in.Dir, in.Env)
	if err != nil {
		return task.Output{}, inOneLine(part.Explain(err))
	}
	req.Memory, req.Children = t.memory, children.Children{}
	if len(in.Secret) > 0 {
		key, err := random.KeyFrom(in.Secret)
		if err != nil {
			return task.Output{}, err
		}
		req.Random = &plugin.Random{Key: func(random.Owner) random.Key { return key }, Now: time.Now(), Keys: t.keys}
	}
	if in.Fetch != nil {
		req.Remote = serverFetcher(in.Fetch)
	}
	res, err := plugin.Generate(ctx, req, t.base)
	if err == nil {
		err = res.Refused()
	}
	if err != nil {
		return task.Output{}, inOneLine(part.Explain(err))
	}
	out := task.Output{
		Manifests: res.Manifests(),
		Remarks:   Remarks(res.Findings),
		Measures:  map[string]int{"objects": len(res.Objects), "waves": res.Plan.Waves()},
		Log:       []any{"renderer", string(res.Kind), "objects", len(res.Objects), "waves", res.Plan.Waves(), "findings", len(res.Findings)},
	}
	for _, m := range out.Manifests {
		out.Expanded += object.ExpandedSize(m)
	}
	if len(res.Findings) > 0 {
		out.Log = append(out.Log, "first", finding.CutMiddle(worst(res.Findings).Error(), task.MaxLine))
	}
	if !res.UsesRevision {
		out.Unused = append(out.Unused, plugin.Revision)
	}
	if !res.UsesRepoURL {
		out.Unused = append(out.Unused, plugin.RepoURL)
	}
	if len(res.Renewals) > 0 {
		out.Until = res.Renewals[0].Renews
	}
	for _, name := range plugin.Substitutable() {
		if name != plugin.SourcePath && !slices.Contains(res.Variables, name) && !(res.Derived && name == plugin.ProjectName) {
			out.Unused = append(out.Unused, name)
		}
	}
	return out, nil
}

// worst returns the first of the most severe findings, which must not be empty.
func worst(findings []finding.Finding) finding.Finding {
	for _, severity := range []finding.Severity{finding.Error, finding.Warning} {
		if i := slices.IndexFunc(findings, func(f finding.Finding) bool { return f.Severity == severity }); i >= 0 {
			return findings[i]
		}
	}
	return findings[0]
}

// Remarks returns log lines for findings, with levels by severity.
func Remarks(findings []finding.Finding) []task.Remark {
	levels := map[finding.Severity]slog.Level{finding.Error: slog.LevelError, finding.Warning: slog.LevelWarn, finding.Note: slog.LevelInfo}
	var all []task.Remark
	for i, f := range findings {
		if i == task.MaxRemarks {
			return append(all, task.Remark{Level: slog.LevelWarn, Text: fmt.Sprintf("further findings: %d; cmp render lists all", len(findings)-i)})
		}
		all = append(all, task.Remark{Level: levels[f.Severity], Text: finding.CutMiddle(f.Error(), task.MaxLine)})
	}
	return all
}

// inOneLine joins the errors of an input for a single line: the condition of an
// Application.
func inOneLine(err error) error {
	var all []string
	found := finding.Of(err)
	for _, f := range found[:min(len(found), maxFaults)] {
		all = append(all, finding.CutMiddle(f.Error(), task.MaxLine))
	}
	if more := len(found) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("and %d more; cmp render lists all", more))
	}
	return errors.New(strings.Join(all, " | "))
}

// Announcements returns the plugin's parameters in the protocol's form.
func Announcements() []*wire.ParameterAnnouncement {
	var all []*wire.ParameterAnnouncement
	for _, p := range plugin.Parameters() {
		a := &wire.ParameterAnnouncement{Name: p.Name, Title: p.Title, Tooltip: p.Tooltip, ItemType: p.Item, CollectionType: p.Collection}
		if p.Item == "boolean" {
			a.String_ = p.Default
		}
		all = append(all, a)
	}
	return all
}

// maxFaults limits the errors in a response, since a repository may have millions.
const maxFaults = 50
