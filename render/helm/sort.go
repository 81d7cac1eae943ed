package helm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/ladder-cmp/ladder/render/input"
)

// manifests sorts the output like "helm template": crds/, then the output of
// templates, then hooks.
func (s source) manifests(ch *chart.Chart, files map[string]string) ([]Document, error) {
	for name := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
		}
	}
	sorted, err := s.sort(ch, files)
	if err != nil {
		return nil, s.manifestFaults(ch, files, err)
	}
	var docs []Document
	if !s.opt.SkipCRDs {
		if docs, err = s.crdFiles(ch); err != nil {
			return nil, err
		}
	}
	docs = append(docs, sorted.manifests...)
	last := len(docs)
	for i, h := range sorted.hooks {
		if s.opt.SkipHooks || s.opt.SkipTests && slices.Contains(h.Events, release.HookTest) {
			continue
		}
		docs = append(docs, sorted.hookDocuments[i])
	}
	keepTrailingLines(docs, last)
	return docs, nil
}

// keepTrailingLines adds the line breaks that "helm template" prints after
// documents: one more than they have, but only one after the last manifest. They
// matter for a block scalar at the end of a document; other documents remain tidy.
func keepTrailingLines(docs []Document, manifests int) {
	for i, d := range docs {
		switch {
		case !keepsLines(d.Text):
		case i == manifests-1:
			docs[i] = d.with(strings.TrimRight(d.Text, " \t\r\n") + "\n")
		default:
			docs[i] = d.with(d.Text + "\n")
		}
	}
}

// keepsLines reports whether a text may contain the header of a block scalar that
// keeps trailing blank lines: "|+", ">+", "|2+".
func keepsLines(text string) bool {
	for at := 0; ; at++ {
		plus := strings.IndexByte(text[at:], '+')
		if plus < 0 {
			return false
		}
		at += plus
		head := strings.TrimRight(text[max(0, at-2):at], "0123456789")
		if strings.HasSuffix(head, "|") || strings.HasSuffix(head, ">") {
			return true
		}
	}
}

// sortedOutput is the output of templates in Helm's order.
type sortedOutput struct {
	manifests     []Document
	hooks         []*release.Hook
	hookDocuments []Document // of each hook
}

// output is a document of a template's output.
type output struct {
	Document
	kind string
}

// sort sorts the output of templates by Helm's function. That function parses each document only
// for its kind and annotations, with a parser of its own, although every document is parsed for
// its object anyway, and compares documents one by one by a table that it builds each time. So it
// gets a short document with the same head for each hook and for the first object of each kind,
// and a whole document only if its object is not clear. CRDs are, although most of them is not parsed.
func (s source) sort(ch *chart.Chart, files map[string]string) (sortedOutput, error) {
	all := s.parseOutput(ch, files)
	heads := map[string]*strings.Builder{}
	byHead := map[string][]int{}
	var generic []int
	shown := map[string]bool{}
	for i, o := range all {
		head, kind, isClear := headOf(o, i)
		if isClear && kind != "" {
			generic = append(generic, i)
			all[i].kind = kind
			if shown[kind] {
				continue
			}
			shown[kind] = true
		}
		if heads[o.Source] == nil {
			heads[o.Source] = &strings.Builder{}
		}
		heads[o.Source].WriteString("---\n" + head + "\n")
		if key := headKey(o.Source, head); !isClear || kind == "" {
			byHead[key] = append(byHead[key], i)
		}
	}
	short := map[string]string{}
	for name, text := range heads {
		short[name] = text.String()
	}
	hooks, manifests, err := releaseutil.SortManifests(short, nil, releaseutil.InstallOrder)
	if err != nil {
		return sortedOutput{}, err
	}
	next := func(name, head string) (i int, ok bool) { // equal documents of a file come in their order
		key := headKey(name, head)
		if len(byHead[key]) == 0 {
			return 0, false // the first of its kind
		}
		i, byHead[key] = byHead[key][0], byHead[key][1:]
		return i, true
	}
	ranks := map[string]int{}
	for _, m := range manifests {
		if _, known := ranks[m.Head.Kind]; !known {
			ranks[m.Head.Kind] = len(ranks)
		}
		if i, ok := next(m.Name, m.Content); ok {
			all[i].kind = m.Head.Kind
			generic = append(generic, i)
		}
	}
	slices.SortFunc(generic, func(a, b int) int {
		return cmp.Or(cmp.Compare(ranks[all[a].kind], ranks[all[b].kind]), cmp.Compare(a, b))
	})
	res := sortedOutput{hooks: hooks}
	for _, i := range generic {
		res.manifests = append(res.manifests, all[i].Document)
	}
	for _, h := range hooks {
		i, _ := next(h.Path, h.Manifest)
		res.hookDocuments = append(res.hookDocuments, all[i].Document)
	}
	return res, nil
}

// parseOutput splits and parses the output of templates, in the order of their names.
func (s source) parseOutput(ch *chart.Chart, files map[string]string) []output {
	var all []output
	var texts []input.Text
	shown := map[string]string{}
	s.templateFiles(ch, shown)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		file := shown[name]
		for _, text := range splitManifests(files[name]) {
			all = append(all, output{Document: Document{Source: name, File: file, Text: text}})
			texts = append(texts, input.Text{File: file, Text: text})
		}
	}
	for i, parsed := range s.opt.Memory.ParseAll(texts) {
		all[i].parsed = &parsed
	}
	return all
}

// splitManifests splits the output of a template like Helm's function of this name: at each "---"
// at the start of a line, which takes the blanks after it, too.
func splitManifests(text string) (all []string) {
	add := func(doc string) {
		if doc = strings.TrimLeftFunc(doc, unicode.IsSpace); doc != "" {
			all = append(all, doc)
		}
	}
	const separator = "---"
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if rest, found := strings.CutPrefix(text, separator); found {
		text = strings.TrimLeft(rest, " \t")
	}
	for {
		doc, rest, found := strings.Cut(text, "\n"+separator)
		if !found {
			add(text)
			return all
		}
		add(text[:len(doc)+1])
		text = strings.TrimLeft(rest, " \t")
	}
}

// headOf returns a document with the parts of another one that Helm sorts by. kind is set unless
// it is a hook. isClear is false if only Helm can say, and then head is the whole text.
func headOf(o output, i int) (head, kind string, isClear bool) {
	if o.parsed.Err != nil || len(o.parsed.Objects) != 1 {
		return o.Text, "", false
	}
	obj := o.parsed.Objects[0]
	_, text := obj.Parts() // which the memory has with what is known of it
	isSure := strings.TrimRight(text, "\n") == strings.TrimRight(o.Text, "\n") && (obj.IsPlain() || obj.IsBasic())
	if !isSure || !obj.Get("kind").IsText() {
		return o.Text, "", false
	}
	about := map[string]any{"kind": obj.ID.Kind}
	hook := map[string]string{}
	for _, f := range obj.Get("metadata", "annotations").Fields() {
		if strings.HasPrefix(f.Key, release.HookAnnotation) {
			hook[f.Key] = f.Value.Text()
		}
	}
	if _, isHook := hook[release.HookAnnotation]; isHook {
		about["metadata"] = map[string]any{"annotations": hook}
	} else {
		kind = obj.ID.Kind
	}
	short, err := json.Marshal(about)
	if err != nil {
		return o.Text, "", false
	}
	return fmt.Sprintf("%s # %d", short, i), kind, true
}

func headKey(source, head string) string {
	return source + "\n" + strings.TrimRightFunc(head, unicode.IsSpace)
}
