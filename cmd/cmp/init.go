package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
)

func newInit(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init DIR...",
		Short: "Write a component.yaml from what is found",
		Long: `Write a component.yaml into each DIR from what is found there: its name, the
namespace if the manifests name one, what its chart says of itself, and whether
its CRDs should be split off. Below a ladder.yaml that has a fleet with a profile,
it also gets its domain and the earliest phase at which it can stand; what has a
phase keeps it. What cannot be found out is a comment. Where cmp fleet schema
wrote a component.schema.json, in a directory above or in docs there, the first
line names it for editors.

A component.yaml that is there stays. With --force, what it does not say is added;
all that it says is kept.`,
		Example: `  cmp init ./components/vault
  cmp init ./components/* --stdout`,
		Args: cobra.MinimumNArgs(1),
	}
	flags := cmd.Flags()
	force := flags.Bool("force", false, "Add what is missing to a component.yaml that is there")
	stdout := flags.Bool("stdout", false, "Print what would be written, and write nothing")
	ladder := ladderFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		base, err := knowledgeBase(*ladder)
		if err != nil {
			return err
		}
		dirs, err := globbed(args)
		if err != nil {
			return err
		}
		c, err := openCheckout(dirs[0])
		if err != nil {
			return fmt.Errorf("%s: %w", dirs[0], err)
		}
		defer c.close()
		in := &beginning{checkout: c, kinds: base}
		if err := in.look(cmd.Context(), dirs, *force); err != nil {
			return err
		}
		in.tellApart(cmd.Context())
		in.place(cmd.Context())
		if err := in.check(); err != nil {
			return err
		}
		warn(s, append(in.findings, staying(in.there)...))
		if len(in.found) == 0 {
			return errors.New("no file is to be written; name directories of components without one, or give --force")
		}
		if !*stdout {
			if err := in.write(); err != nil {
				return err
			}
		}
		_, err = io.WriteString(s.Out, in.text(*stdout))
		return err
	}
	return cmd
}

// globbed are the directories that arguments name, also by patterns that no shell
// has seen. Files that a pattern matches are left out.
func globbed(args []string) ([]string, error) {
	var all []string
	for _, arg := range args {
		if arg == "" {
			return nil, usageError{errors.New(`the name of the directory is empty; name the directory of the component, or "." for this one`)}
		}
		found, err := filepath.Glob(arg)
		if err != nil || !strings.ContainsAny(arg, "*?[") {
			found = []string{arg}
		}
		for _, dir := range found {
			if info, err := os.Stat(dir); err != nil {
				return nil, fmt.Errorf("%s: no such directory; name one that is there", dir)
			} else if info.IsDir() && !slices.Contains(all, dir) {
				all = append(all, dir)
			} else if !info.IsDir() && len(found) == 1 && len(args) == 1 {
				return nil, fmt.Errorf("%s: this is a file; name the directory of the component", dir)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: there is no directory; name one that is there", strings.Join(args, " "))
	}
	return all, nil
}

// beginning is the work on components that do not describe themselves yet.
type beginning struct {
	*checkout
	kinds    *knowledge.Base
	found    []*foundling
	findings []finding.Finding
	// there are files that are there already, and stay.
	there []string
}

// staying says that files are there: each of a few, or how many.
func staying(files []string) []finding.Finding {
	const few = 3
	var all []finding.Finding
	for n, file := range files {
		f := finding.Finding{Severity: finding.Note, Rule: "not-written", File: file, Message: "it is there, and stays", Remedy: "give --force to add what it does not say"}
		if n == few-1 && len(files) > few {
			f.Message = fmt.Sprintf("it is there, as %d more are, and stays", len(files)-few)
			return append(all, f)
		}
		all = append(all, f)
	}
	return all
}

// foundling is such a component.
type foundling struct {
	// dir is the directory in the repository, file how messages call its
	// component.yaml.
	dir, file string
	draft     component.Draft
	kind      render.Kind
	summary   string
	// names are what it may be called, the best first.
	names []string
	// said is what a component.yaml says that is there.
	said component.Description
}

// look finds out what the directories hold.
func (b *beginning) look(ctx context.Context, dirs []string, force bool) error {
	var faults []error
	for _, typed := range dirs {
		dir, err := b.inside(typed)
		if err != nil {
			return err
		}
		f := &foundling{dir: dir, file: filepath.ToSlash(filepath.Join(typed, component.File))}
		info, err := os.Lstat(filepath.Join(b.base, filepath.FromSlash(dir), component.File))
		switch {
		case err == nil && !info.Mode().IsRegular():
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "not-written", File: f.file, Message: "it is no file but a link", Remedy: "remove it first"})
			continue
		case err == nil && !force:
			b.there = append(b.there, f.file)
			continue
		case err == nil:
			if f.draft.Old, err = fs.ReadFile(b.repo, path.Join(dir, component.File)); err != nil {
				faults = append(faults, plugin.Unreadable(f.file, err))
				continue
			}
		}
		if err := b.describe(ctx, f); err != nil {
			if skipped, ok := err.(finding.Finding); ok && skipped.Rule == "nothing-to-render" && len(dirs) > 1 {
				skipped.Severity = finding.Note // as a pattern matches such, too
				b.findings = append(b.findings, skipped)
				continue
			}
			faults = append(faults, err)
			continue
		}
		b.found = append(b.found, f)
	}
	return errors.Join(faults...)
}

// nowhere is a namespace that no manifest names: what is in it only followed the
// destination of the Application.
const nowhere = "ladder-init-nowhere"

// describe finds out what a directory holds.
func (b *beginning) describe(ctx context.Context, f *foundling) error {
	kind, err := render.Detect(b.repo, f.dir)
	if err != nil {
		return err
	}
	shown := filepath.ToSlash(filepath.Dir(f.file))
	if kind == "" {
		return finding.Finding{Severity: finding.Error, Rule: "nothing-to-render", File: shown, Message: "there is nothing to render here",
			Remedy: "name a directory with a chart, a kustomization, templates or manifests"}
	}
	if kind == render.Helm && b.library(f.dir) {
		return finding.Finding{Severity: finding.Error, Rule: "nothing-to-render", File: shown, Message: "a library chart renders nothing", Remedy: "name a chart that depends on it"}
	}
	if within := b.within(f.dir); kind != render.Helm && kind != render.Kustomize && len(within) > 0 {
		return finding.Finding{Severity: finding.Error, Rule: "several-components", File: shown, Message: "it holds components itself, such as " + within[0],
			Remedy: "name each of them, as with cmp init " + b.naming(f.dir, within)}
	}
	f.kind = kind
	f.draft.Schema = b.schema(f.dir)
	f.draft.PhaseWhy = "its place in the rollout, which a fleet with a profile decides"
	b.chart(f)
	f.names = b.namesFor(f)
	name := f.names[0]
	f.draft.Name = name
	repo := overlaid{b.repo, map[string]string{}}
	if f.draft.Old != nil {
		said, err := plugin.Request{Repo: b.repo, NoRepository: b.none, Dir: f.dir, Show: b.show}.Describe()
		if err != nil {
			return err
		}
		f.says(said)
	}
	res, err := plugin.Generate(ctx, plugin.Request{Repo: repo, NoRepository: b.none, Dir: f.dir, DirName: name, Show: b.show, App: plugin.App{Name: name, Namespace: nowhere}}, b.kinds)
	if err != nil {
		f.draft.NamespaceWhy = "it could not be rendered, so that nothing names one"
		for _, fault := range finding.Of(err) {
			fault.Severity = finding.Warning
			b.findings = append(b.findings, fault)
		}
		return nil
	}
	f.draft.Namespace, f.draft.NamespaceWhy = namespaceOf(res.Objects)
	definitions, rest := crds.Split(res.Objects)
	if len(definitions) > 0 && len(rest) > 0 {
		f.draft.CRDs = component.Split
		f.draft.CRDsWhy = fmt.Sprintf("%s beside %s: split makes an Application of their own of them, which comes first and outlives the other.", counted(len(definitions), "definition"), counted(len(rest), "other object"))
	}
	return nil
}

// says takes over what the file that is there says.
func (f *foundling) says(said component.Description) {
	if said.Name != "" {
		f.draft.Name, f.names = said.Name, []string{said.Name}
	}
	if said.Phase().Set {
		f.draft.PhaseKey, f.draft.Phase = said.PhaseKey(), said.Phase().Text
	}
	f.said = said
}

// namesFor are what a component may be called, the best first: as its chart is, as
// its directory, and with the names of the directories above where that is not
// enough to tell it from others.
func (b *beginning) namesFor(f *foundling) []string {
	own := path.Base(f.dir)
	if f.dir == "." {
		own = b.name
	}
	names := []string{f.draft.Name, component.NameFrom(own)}
	for dir := path.Dir(f.dir); dir != "."; dir = path.Dir(dir) {
		names = append(names, component.NameFrom(path.Base(dir)+"-"+own))
	}
	names = append(names, component.NameFrom(f.dir))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	if len(names) == 0 {
		return []string{"component"}
	}
	return slices.Compact(names)
}

// tellApart gives those other names that would be called as others are, or as
// components of their fleets.
func (b *beginning) tellApart(ctx context.Context) {
	taken := map[string]int{}
	homes := map[string]bool{}
	for _, f := range b.found {
		if home, ok := b.home(f.dir); ok && !homes[home] {
			homes[home] = true
			fl, err := loadUntilInterrupted(ctx, fleet.Source{Repo: b.repo, NoRepository: b.none, Dirs: []string{home}, Show: b.show, Unrendered: true, Partial: true}, b.kinds)
			if err != nil {
				continue // which is told when its phases are looked for
			}
			for _, c := range fl.Components {
				if !slices.ContainsFunc(b.found, func(f *foundling) bool { return f.dir == c.Dir }) {
					taken[c.Name]++
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		counts := maps.Clone(taken)
		for _, f := range b.found {
			counts[f.draft.Name]++
		}
		for _, f := range b.found {
			if counts[f.draft.Name] > 1 && len(f.names) > 1 {
				f.names, changed = f.names[1:], true
				f.draft.Name = f.names[0]
			}
		}
	}
}

// within are directories below one that are components by themselves.
func (b *beginning) within(dir string) []string {
	var all []string
	err := fs.WalkDir(b.repo, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && p != dir {
			return fs.SkipDir
		}
		if !d.IsDir() && path.Dir(p) != dir && slices.Contains([]string{"Chart.yaml", "kustomization.yaml", "kustomization.yml", component.File}, d.Name()) {
			all = append(all, b.show(path.Dir(p)))
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return slices.Compact(all)
}

// naming are arguments that name components below a directory: a pattern that fits
// them and nothing else, or else the first of them.
func (b *beginning) naming(dir string, within []string) string {
	for depth, pattern := 1, path.Join(dir, "*"); depth <= 3; depth, pattern = depth+1, pattern+"/*" {
		found, err := fs.Glob(b.repo, pattern)
		if err != nil {
			break
		}
		fitting := 0
		for _, p := range found {
			info, err := fs.Stat(b.repo, p)
			switch {
			case err != nil || !info.IsDir():
			case slices.Contains(within, b.show(p)):
				fitting++
			default:
				fitting = -len(found)
			}
		}
		if fitting > 0 {
			return "'" + b.show(pattern) + "'"
		}
	}
	const some = 3
	if len(within) > some {
		return strings.Join(within[:some], " ") + " and so on"
	}
	return strings.Join(within, " ")
}

// chartYAML is what a Chart.yaml says, and reads a text of it.
func (b *beginning) chartYAML(dir string) (doc map[string]any, said func(key string) string) {
	text, err := fs.ReadFile(b.repo, path.Join(dir, "Chart.yaml"))
	if err != nil || yaml.Unmarshal(text, &doc) != nil {
		doc = nil // rendering says so
	}
	return doc, func(key string) string { return textAt(doc, key) }
}

func textAt(m map[string]any, key string) string {
	if v, ok := m[key]; ok && v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

func (b *beginning) library(dir string) bool {
	_, said := b.chartYAML(dir)
	return said("type") == "library"
}

// chart takes over what a chart says of itself, and says what other kinds of
// components are.
func (b *beginning) chart(f *foundling) {
	f.summary = map[render.Kind]string{render.Kustomize: "a kustomization", render.Template: "templates", render.Plain: "manifests", render.Helm: "a chart"}[f.kind]
	if f.kind != render.Helm {
		f.draft.Facts = append(f.draft.Facts, map[render.Kind]string{render.Kustomize: "A kustomization.", render.Template: "Templated manifests.", render.Plain: "Plain manifests."}[f.kind])
		return
	}
	doc, said := b.chartYAML(f.dir)
	fact := strings.TrimSpace("The chart " + said("name") + " " + said("version"))
	if app := said("appVersion"); app != "" {
		fact += ", of " + app
	}
	f.draft.Facts = append(f.draft.Facts, finding.Harmless(fact)+".")
	var needs []string
	if list, ok := doc["dependencies"].([]any); ok {
		for _, d := range list {
			if m, ok := d.(map[string]any); ok {
				needs = append(needs, strings.TrimSpace(textAt(m, "name")+" "+textAt(m, "version")))
			}
		}
	}
	if len(needs) > 0 {
		f.draft.Facts = append(f.draft.Facts, finding.Harmless("It brings the charts "+strings.Join(needs, ", "))+".")
	}
	f.draft.Name, f.draft.About = component.NameFrom(said("name")), finding.Harmless(strings.Join(strings.Fields(said("description")), " "))
	entries, err := fs.ReadDir(b.repo, f.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if ok, err := path.Match(`values[.\-]*.y*ml`, e.Name()); ok && err == nil && !e.IsDir() && e.Name() != "values.yaml" && e.Name() != "values.yml" {
			f.draft.Values = append(f.draft.Values, e.Name())
		}
	}
}

// workloads are kinds that only ever are where the component is.
var workloads = []string{"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"}

// namespaceOf is the namespace that manifests name: that of all workloads, or of
// all objects where there are none. why says why there is none.
func namespaceOf(objs []object.Object) (namespace, why string) {
	at := func(o object.Object) string {
		if o.ID.Namespace == nowhere {
			return ""
		}
		return o.ID.Namespace
	}
	var theirs, all, made []string
	for _, o := range objs {
		if slices.Contains(workloads, o.ID.Kind) {
			theirs = append(theirs, at(o))
		}
		if at(o) != "" {
			all = append(all, at(o))
		}
		if o.ID.GroupKind() == "Namespace" {
			made = append(made, o.ID.Name)
		}
	}
	one := func(names []string) []string { slices.Sort(names); return slices.Compact(names) }
	theirs, all, made = one(theirs), one(all), one(made)
	if len(theirs) == 0 {
		theirs = one(append(all, made...))
	}
	switch {
	case len(theirs) == 1 && theirs[0] != "":
		return theirs[0], ""
	case len(theirs) == 1 && len(made) == 1:
		return made[0], ""
	case len(theirs) > 1:
		return "", finding.Harmless("the manifests name " + strings.Join(slices.DeleteFunc(theirs, func(n string) bool { return n == "" }), ", ") + ", and this is where all else goes")
	}
	return "", "where it goes; the manifests do not say"
}

// schemaFile is what cmp fleet schema prints, where people keep it.
const schemaFile = "component.schema.json"

// schema is the way from a directory to the JSON Schema: the nearest one above, also
// in a directory docs; empty if there is none, since editors stumble over a way that
// leads nowhere.
func (b *beginning) schema(dir string) string {
	for d := dir; ; d = path.Dir(d) {
		for _, file := range []string{path.Join(d, schemaFile), path.Join(d, "docs", schemaFile)} {
			if _, err := fs.Stat(b.repo, file); err != nil {
				continue
			}
			if rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(file)); err == nil {
				return filepath.ToSlash(rel)
			}
		}
		if d == "." || d == "/" {
			return ""
		}
	}
}

// home is the directory whose ladder.yaml has the fleet of a directory.
func (b *beginning) home(dir string) (string, bool) {
	for d := dir; ; d = path.Dir(d) {
		if text, err := fs.ReadFile(b.repo, path.Join(d, knowledge.File)); err == nil {
			var l struct {
				Fleet yaml.Node `yaml:"fleet"`
			}
			if yaml.Unmarshal(text, &l) == nil && !l.Fleet.IsZero() {
				return d, true
			}
		}
		if d == "." || d == "/" {
			return "", false
		}
	}
}

// place finds the phases of components that lie in a fleet with a profile.
func (b *beginning) place(ctx context.Context) {
	homes := map[string][]*foundling{}
	for _, f := range b.found {
		if home, ok := b.home(f.dir); ok {
			homes[home] = append(homes[home], f)
		}
	}
	for _, home := range slices.Sorted(maps.Keys(homes)) {
		fl := b.fleet(ctx, home, homes[home])
		if fl == nil {
			continue
		}
		for _, f := range homes[home] {
			f.join(fl, home)
		}
		places := fl.Phases(fleet.PhaseOptions{OnlyMissing: true})
		for _, f := range homes[home] {
			f.settle(fl, places)
		}
	}
}

// fleet loads the fleet with the drafts in it; nil if that cannot be done.
func (b *beginning) fleet(ctx context.Context, home string, members []*foundling) *fleet.Fleet {
	repo := overlaid{b.repo, map[string]string{}}
	for _, f := range members {
		repo.files[path.Join(f.dir, component.File)] = f.draft.Text()
	}
	fl, err := loadUntilInterrupted(ctx, fleet.Source{Repo: repo, NoRepository: b.none, Dirs: []string{home}, Show: b.show}, b.kinds)
	if err != nil {
		for _, f := range members {
			f.draft.PhaseWhy = "its place in the rollout; the fleet could not be read"
		}
		for _, fault := range finding.Of(err) {
			fault.Severity = finding.Warning
			if !slices.Contains(b.findings, fault) {
				b.findings = append(b.findings, fault)
			}
		}
		return nil
	}
	return fl
}

// application is the one of a directory.
func application(fl *fleet.Fleet, dir string) int {
	return slices.IndexFunc(fl.Applications, func(a *fleet.Application) bool { return a.Dir == dir })
}

// join says which part of a platform a component is, and tells the fleet.
func (f *foundling) join(fl *fleet.Fleet, home string) {
	f.draft.PhaseKey = cmp.Or(f.draft.PhaseKey, fl.Profile.Key, "rolloutPhase")
	f.draft.PartKey, f.draft.Part = f.partIn(fl, home)
	for _, c := range fl.Components {
		if c.Dir == f.dir {
			c.Domain = f.draft.Part
		}
	}
}

// partIn is the domain of a component and its key: what its neighbours say of
// themselves, or the directory that is called like one.
func (f *foundling) partIn(fl *fleet.Fleet, home string) (key, part string) {
	if f.said.Part() != "" {
		return "", f.said.Part()
	}
	key = "domain"
	var parts []string
	for _, c := range fl.Components {
		if c.Dir == f.dir {
			continue
		}
		if c.Tier != "" && c.Domain == "" {
			key = "tier"
		}
		if path.Dir(c.Dir) == path.Dir(f.dir) && c.Part() != "" {
			parts = append(parts, c.Part())
		}
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	var domains []string
	for _, band := range fl.Profile.Bands {
		domains = append(domains, band.Domains...)
	}
	if len(parts) == 1 {
		return key, parts[0]
	}
	rel := strings.TrimPrefix(f.dir, strings.TrimPrefix(home+"/", "./"))
	for _, name := range strings.Split(path.Dir(rel), "/") {
		if slices.Contains(domains, name) {
			return key, name
		}
	}
	return key, ""
}

// settle takes over the place that was computed.
func (f *foundling) settle(fl *fleet.Fleet, places *fleet.Phases) {
	at := application(fl, f.dir)
	if at < 0 {
		return
	}
	p := places.Places[at]
	f.splitIn(fl, p.Application)
	if !p.Computed.Set {
		f.draft.PhaseWhy = "its place in the rollout"
		for _, fault := range places.Findings {
			if fault.Object == p.Name {
				f.draft.PhaseWhy += "; " + finding.Harmless(fault.Message+"; "+fault.Remedy)
			}
		}
		return
	}
	f.draft.Phase = fl.Profile.Write(p.Computed.Number)
	f.draft.PhaseWhy = finding.Harmless(f.draft.Phase + " is the earliest: " + p.Why + ".")
	if p.Rung != "" {
		f.summary += ", for " + p.Rung
	}
	// What others at such a place call it.
	var called []string
	for _, other := range places.Places {
		if other.Title == p.Title && other.DependencyPhase != "" {
			called = append(called, other.DependencyPhase)
		}
	}
	slices.Sort(called)
	if called = slices.Compact(called); len(called) == 1 {
		f.draft.DependencyPhase = called[0]
	}
}

// splitIn says what should become of bundled definitions in a fleet: another
// component may hold them already, and its profile has a place for them.
func (f *foundling) splitIn(fl *fleet.Fleet, app *fleet.Application) {
	if f.draft.CRDs == "" {
		return
	}
	for _, other := range fl.Applications {
		held := slices.ContainsFunc(other.Objects, func(o object.Object) bool {
			return crds.Is(o) && slices.ContainsFunc(app.Objects, func(own object.Object) bool { return own.ID == o.ID })
		})
		if other.Dir != f.dir && held {
			f.draft.CRDs, f.draft.CRDsWhy = string(crds.Skip), finding.Harmless("Its definitions are those that "+other.Name+" holds.")
			return
		}
	}
	for _, band := range fl.Profile.BandsOf(f.draft.Part) {
		for _, place := range band.Places {
			if f.draft.CRDsPhase == "" && place.Takes(definitionsRung) {
				f.draft.CRDsPhase = fl.Profile.Write(place.Phase)
			}
		}
	}
}

// definitionsRung is what definitions are for.
const definitionsRung = "crds"

// check reads what is to be written, as all others will.
func (b *beginning) check() error {
	var faults []error
	for _, f := range b.found {
		repo := overlaid{b.repo, map[string]string{path.Join(f.dir, component.File): f.draft.Text()}}
		_, err := plugin.Request{Repo: repo, NoRepository: b.none, Dir: f.dir, Show: b.show}.Describe()
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// write writes the files in their order. Each has its text beside it before the first
// gets its name, so that a disk that is full leaves none; what stops it later is
// said with what is written already.
func (b *beginning) write() (err error) {
	var ready, written []string
	defer func() {
		for _, name := range ready[len(written):] {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	for _, f := range b.found {
		name, err := writtenBeside(b.path(f), []byte(f.draft.Text()), 0o644)
		if err != nil {
			return fmt.Errorf("%s: %s; no file is written", f.file, reason(err))
		}
		ready = append(ready, name)
	}
	for i, f := range b.found {
		if err := os.Rename(ready[i], b.path(f)); err != nil {
			already := "no file is written"
			if len(written) > 0 {
				already = "written already: " + strings.Join(written, ", ")
			}
			return fmt.Errorf("%s: %s; %s", f.file, reason(err), already)
		}
		written = append(written, f.file)
	}
	return nil
}

// path is where the component.yaml of a component is.
func (b *beginning) path(f *foundling) string {
	return filepath.Join(b.base, filepath.FromSlash(f.dir), component.File)
}

// text says what was written, or prints it.
func (b *beginning) text(all bool) string {
	var out strings.Builder
	for i, f := range b.found {
		if all {
			if len(b.found) > 1 {
				if i > 0 {
					out.WriteString("---\n")
				}
				fmt.Fprintf(&out, "# %s\n", finding.Harmless(f.file))
			}
			out.WriteString(f.draft.Text())
			continue
		}
		phase := "no phase"
		if f.draft.Phase != "" {
			phase = "phase " + f.draft.Phase
		}
		fmt.Fprintf(&out, "%s: %s, %s, %s\n", finding.Harmless(f.file), f.draft.Name, f.summary, phase)
	}
	if !all {
		fmt.Fprintf(&out, "%s written\n", counted(len(b.found), "file"))
	}
	return out.String()
}
