package text

import (
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Endless is a command that does not end by itself.
type Endless struct {
	// Command is how it begins; empty if there is none.
	Command string
	// By is what is known of the program; nil for a loop.
	By *knowledge.Endless
}

// NeverEnds returns the command with which a program does not end, if every other command
// succeeds. What ends only sometimes, such as a loop that a condition leaves, is none.
func NeverEnds(base *knowledge.Base, p Program) Endless {
	r := endReader{waitReader{base: base, program: p, variables: map[string]string{}}}
	for name, value := range p.Variables {
		r.variables[name] = value
	}
	return r.simple(slices.Concat(p.Command, p.Arguments))
}

// endReader follows a program up to a command that does not end.
type endReader struct{ waitReader }

// list follows the commands of a list.
func (r *endReader) list(all []command) Endless {
	var background []Endless
	for i, c := range all {
		first, last := chainOf(all, i)
		isOptional := slices.ContainsFunc(all[first:i], func(c command) bool { return c.then == "||" })
		isPiped := c.then == "|" && !(i < last && len(all[i+1].words) > 0 && all[i+1].words[0] == "tee")
		switch {
		case all[last].then == "&":
			background = append(background, r.command(c))
			continue
		case isOptional && exitsOf([]command{c}) == 0 || isPiped:
			continue
		case isOptional:
			return Endless{}
		}
		if len(c.words) > 0 && (c.words[0] == "." || c.words[0] == "source") {
			return Endless{} // what is there may end it
		}
		if len(c.words) > 0 && c.words[0] == "wait" && len(background) > 0 {
			at := slices.IndexFunc(background, func(e Endless) bool { return e.Command != "" })
			if at >= 0 && (len(c.words) == 1 || len(background) == 1) {
				return background[at]
			}
		}
		if e := r.command(c); e.Command != "" || exitsOf([]command{c}) > 0 || len(c.words) > 0 && c.words[0] == "exit" {
			return e
		}
	}
	return Endless{}
}

// chainOf returns the first and the last of the commands that "&&", "||" and "|" join to one.
func chainOf(all []command, i int) (first, last int) {
	first, last = i, i
	for first > 0 && all[first-1].then != ";" && all[first-1].then != "&" {
		first--
	}
	for last < len(all)-1 && all[last].then != ";" && all[last].then != "&" {
		last++
	}
	return first, last
}

func (r *endReader) command(c command) Endless {
	switch c.keyword {
	case "until", "while":
		if isAlways(c) && leavesOf(c.body) == 0 && !r.mayEnd(c.body) {
			return Endless{Command: c.keyword + " " + strings.Join(c.condition[0].words, " ")}
		}
	case "(", "{":
		return r.list(c.body)
	case "if":
		if e := r.list(c.body); e.Command != "" && r.list(c.otherwise).Command != "" {
			return e
		}
	case "":
		return r.simple(c.words)
	}
	return Endless{}
}

// isAlways reports whether a loop goes on whatever happens.
func isAlways(c command) bool {
	if len(c.condition) != 1 || len(c.condition[0].words) == 0 {
		return false
	}
	test := c.condition[0]
	is := func(words ...string) bool { return slices.Contains(words, strings.Join(test.words, " ")) }
	isTrue := is("true", ":", "[ 1 ]", "[ true ]", "[ : ]", "[[ 1 ]]", "[[ true ]]", "test 1") || test.words[0] == "sleep"
	return isTrue && (c.keyword == "while") != test.negated || is("false") && (c.keyword == "until") != test.negated
}

// simple follows a simple command: a script, a function, or a program that does not end.
func (r *endReader) simple(words []string) (found Endless) {
	const deepest = 8
	if words = r.assign(words); len(words) == 0 || r.depth > deepest ||
		slices.ContainsFunc(words, func(word string) bool { return path.Base(word) == "timeout" }) {
		return Endless{}
	}
	if words = r.withoutPrefixes(words); len(words) == 0 {
		return Endless{}
	}
	if body, ok := r.functions[words[0]]; ok {
		if leavesOf(body) == 0 {
			r.inside(words[1:], func() { found = r.list(body) })
		}
		return found
	}
	if text, arguments, _, ok := r.scriptIn(words); ok {
		return r.script(text, arguments)
	}
	if by, ok := r.base.EndlessCommand(words); ok {
		return Endless{strings.Join(words[:min(len(words), 3)], " "), by}
	}
	if !interpreter.MatchString(path.Base(words[0])) {
		return Endless{}
	}
	for _, word := range words[1:] {
		if file, ok := r.program.Files[path.Clean(word)]; ok {
			word = file
		}
		if strings.ContainsAny(word, " \n") {
			if found = r.foreign(word); found.Command != "" {
				return found
			}
		}
	}
	return Endless{}
}

// script follows a script. One that ends other programs may end what would not end.
func (r *endReader) script(text string, arguments []string) (found Endless) {
	text = counting.ReplaceAllString(text, "while true")
	if r.base.SendsSignals(text) {
		return Endless{}
	}
	s, ok := readScript(text)
	if !ok {
		return r.foreign(text)
	}
	functions := r.functions
	r.functions = s.functions
	r.inside(arguments, func() { found = r.list(s.commands) })
	if r.functions = functions; found.By != nil && r.base.Stops(found.By, text, text, false) {
		return Endless{}
	}
	return found
}

// foreign reads a text that is not understood.
func (r *endReader) foreign(text string) Endless {
	if m := forever.FindString(text); m != "" && !leaving.MatchString(text) {
		return Endless{Command: strings.TrimRight(m, ":{; \n")}
	}
	return Endless{}
}

var (
	// counting matches a loop of bash without a condition.
	counting = lazyregexp.New(`\bfor\s*\(\(\s*;\s*;\s*\)\)`)
	forever  = lazyregexp.New(`\bwhile\s*(?:\(\s*)?(?:True|true|1|:)\s*(?:\)\s*)?[:{;\n]|\bfor\s*\(\s*;\s*;\s*\)`)
	leaving  = lazyregexp.New(`\b(?:break|return|exit|_exit|quit|kill|raise|throw|die|assert|yield|daemon|create_task)\b`)
	// interpreter matches programs that run scripts of other languages than the shell's.
	interpreter = lazyregexp.New(`^(?:python|node|nodejs|deno|bun|ruby|php|perl)[\d.]*$`)
)
