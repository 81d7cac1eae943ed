package task

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// MaxRemarks and MaxLine limit the log lines of a response, and a text of one in bytes: what they
// say comes from the repository, which may have millions of them.
const (
	MaxRemarks = 200
	MaxLine    = 2000
)

// maxEntries limits the lists of an Output that describe it.
const maxEntries = 64

// Cut limits everything in an output that is not a manifest. A cached response is logged each time
// that it is sent.
func (o *Output) Cut() {
	o.Log = o.Log[:min(len(o.Log), 2*maxEntries)]
	for i, value := range o.Log {
		switch value := value.(type) {
		case int, bool, float64:
		default:
			o.Log[i] = finding.CutMiddle(fmt.Sprint(value), MaxLine)
		}
	}
	if more := len(o.Remarks) - MaxRemarks - 1; more > 0 { // the last one may count further findings
		o.Remarks = append(o.Remarks[:MaxRemarks:MaxRemarks], Remark{Level: slog.LevelWarn, Text: fmt.Sprintf("further log lines: %d", more+1)})
	}
	for i := range o.Remarks {
		o.Remarks[i].Text = finding.CutMiddle(o.Remarks[i].Text, MaxLine)
	}
	// A variable that is left out counts as used.
	o.Unused = slices.DeleteFunc(o.Unused, func(name string) bool { return len(name) > MaxLine })
	o.Unused = o.Unused[:min(len(o.Unused), maxEntries)]
	for i, name := range slices.Sorted(maps.Keys(o.Measures)) {
		if i >= maxEntries || len(name) > MaxLine {
			delete(o.Measures, name)
		}
	}
}

// perEntry is the estimated overhead of an element of a list or map, in bytes.
const perEntry = 128

// Size estimates the memory of an output, in bytes.
func (o Output) Size() int64 {
	size := int64(perEntry)
	for _, m := range o.Manifests {
		size += 16 + int64(len(m))
	}
	for _, value := range o.Log {
		size += perEntry
		if text, ok := value.(string); ok {
			size += int64(len(text))
		}
	}
	for _, remark := range o.Remarks {
		size += perEntry + int64(len(remark.Text))
	}
	for name := range o.Measures {
		size += perEntry + int64(len(name))
	}
	for _, name := range o.Unused {
		size += perEntry + int64(len(name))
	}
	return size
}
