package helm

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/render/input"
)

// Helm's engine parses all templates in each rendering, although most of their text is in branches
// that do not run: of features that the values disable. So the memory knows which branches of a
// template ran, and the others are pruned: replaced by a call that only notes that it happened. If
// one is called, its branch runs now, and the rendering is repeated with whole templates.
//
// This changes no output. A pruned branch did not run, and the text is known to be valid: it was
// parsed as a whole before. That only branches were pruned is proven with the parser (isPruned).

// ErrPruned is the error of a rendering that must be repeated without Options.Prune.
var ErrPruned = errors.New("a branch of a template that did not run before runs now")

// The functions that branches call have names that no chart knows.
var (
	noteRan    = "ran" + rand.Text()
	notePruned = "pruned" + rand.Text()
)

// pruned is what is known of the text of a template that was rendered; nothing after the first time.
type pruned struct {
	branches []branch
	ran      []bool // of each branch; nil if unknown
	text     []byte // to render instead; nil if the whole text
}

// pruning is a rendering with pruned templates.
type pruning struct {
	memory  *input.Memory
	used    map[string]*prunedUse           // by id
	fresh   map[[sha256.Size]byte]string    // whole texts, which are empty the first time: most are rendered once
	charts  map[*chart.Chart][]*common.File // their whole templates
	changed bool                            // see prunes
	missed  bool                            // whether a pruned branch was called
}

// prunedUse is a template in a rendering.
type prunedUse struct {
	pruned
	sum   [sha256.Size]byte
	whole string
	calls []bool // of each branch
}

// prune replaces templates of a chart by pruned ones; nil if the options do not allow it.
func (s source) prune(ch *chart.Chart, funcs template.FuncMap) *pruning {
	if !s.opt.Prune || s.opt.Memory == nil || s.opt.Probe != nil {
		return nil
	}
	p := &pruning{memory: s.opt.Memory, used: map[string]*prunedUse{}, fresh: map[[sha256.Size]byte]string{},
		charts: map[*chart.Chart][]*common.File{}}
	funcs[noteRan] = func(id string, branch int) string { p.used[id].calls[branch] = true; return "" }
	funcs[notePruned] = func(id string, branch int) string { p.missed, p.used[id].calls[branch] = true, true; return "" }
	p.replace(ch)
	return p
}

func (p *pruning) replace(ch *chart.Chart) {
	p.charts[ch] = ch.Templates
	ch.Templates = slices.Clone(ch.Templates) // charts with two names share one list
	for i, t := range ch.Templates {
		if strings.HasPrefix(path.Base(t.Name), "_") || strings.HasSuffix(t.Name, markerEnd) {
			continue
		}
		sum := sha256.Sum256(t.Data)
		known, isKnown := p.memory.Template(sum).(pruned)
		switch {
		case !isKnown:
			p.fresh[sum] = ""
		case known.branches == nil && known.ran == nil:
			p.fresh[sum] = string(t.Data)
		}
		if known.text == nil {
			continue
		}
		p.changed = true
		p.used[idOf(sum)] = &prunedUse{pruned: known, sum: sum, whole: string(t.Data), calls: make([]bool, len(known.branches))}
		ch.Templates[i] = &common.File{Name: t.Name, ModTime: t.ModTime, Data: known.text}
	}
	for _, sub := range ch.Dependencies() {
		p.replace(sub)
	}
}

// prunes reports whether a template is not rendered as it is.
func (p *pruning) prunes() bool { return p != nil && p.changed }

// finish restores the templates, and keeps what the rendering says of them. It reports whether the
// output is that of the whole templates.
func (p *pruning) finish(err error) bool {
	for ch, whole := range p.charts {
		ch.Templates = whole
	}
	for id, u := range p.used {
		if err == nil && !p.missed && u.ran == nil || p.missed && u.ran != nil && slices.Contains(u.calls, true) {
			p.keep(u.sum, u.learn(id))
		}
	}
	for sum, text := range p.fresh {
		switch {
		case err != nil || p.missed:
		case text == "":
			p.keep(sum, pruned{})
		default:
			p.keep(sum, marked(idOf(sum), text))
		}
	}
	return err == nil && !p.missed
}

func (p *pruning) keep(sum [sha256.Size]byte, known pruned) {
	const perBranch, perTemplate = 32, 256
	p.memory.KeepTemplate(sum, known, len(known.text)+perBranch*len(known.branches)+perTemplate)
}

// aSecret matches templates that are not kept, to limit how long the content of Secrets stays in
// memory.
var aSecret = lazyregexp.New(`\bkind"?:\s*["']?Secret\b`)

// marked returns a template whose branches note when they run.
func marked(id, whole string) pruned {
	known := pruned{branches: branchesOf(whole)}
	if len(known.branches) == 0 || aSecret.MatchString(whole) {
		return pruned{ran: []bool{}}
	}
	var b strings.Builder
	at := 0
	for i, br := range known.branches {
		b.WriteString(whole[at:br.start])
		fmt.Fprintf(&b, "{{%s %q %d%s}}", noteRan, id, i, br.trim)
		at = br.start
	}
	b.WriteString(whole[at:])
	if !isPruned(whole, b.String()) {
		return pruned{ran: []bool{}}
	}
	known.text = []byte(b.String())
	return known
}

// learn returns the template with what its calls say: a branch that ran is never pruned again,
// and neither are those in a branch that was pruned.
func (u *prunedUse) learn(id string) pruned {
	now := pruned{branches: u.branches, ran: slices.Clone(u.calls)}
	for i, br := range u.branches {
		if u.ran != nil && u.ran[i] {
			now.ran[i] = true
		}
		for j := i + 1; u.ran != nil && u.calls[i] && j < len(u.branches) && u.branches[j].start < br.end; j++ {
			now.ran[j] = true
		}
	}
	var b strings.Builder
	at := 0
	for i, br := range now.branches {
		if now.ran[i] || br.start < at {
			continue
		}
		b.WriteString(u.whole[at:br.start])
		fmt.Fprintf(&b, "{{%s %q %d}}", notePruned, id, i)
		at = br.end
	}
	b.WriteString(u.whole[at:])
	if at > 0 && isPruned(u.whole, b.String()) {
		now.text = []byte(b.String())
	}
	return now
}

// idOf is how calls name a template.
func idOf(sum [sha256.Size]byte) string { return fmt.Sprintf("%x", sum[:8]) }
