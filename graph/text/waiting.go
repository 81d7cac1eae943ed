package text

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

// simple follows a simple command: a script, a function, or a program that waits or tests.
func (w *waitReader) simple(words []string, at place) {
	const deepest = 8
	if words = w.assign(words); len(words) == 0 || w.depth > deepest {
		return
	}
	limited := slices.Contains(words, "timeout")
	if words = w.withoutPrefixes(words); len(words) == 0 {
		return
	}
	if words[0] == "set" {
		w.failsAtOnce = w.failsAtOnce || slices.ContainsFunc(words[1:], func(word string) bool {
			return word == "errexit" || strings.HasPrefix(word, "-") && strings.Contains(word, "e")
		})
		return
	}
	if limited { // the program may be ended, and has failed then
		at.runs = at.runs && at.required
	}
	if body, ok := w.functions[words[0]]; ok {
		w.inside(words[1:], func() { w.list(body, at) })
		return
	}
	if text, arguments, failsAtOnce, ok := w.scriptIn(words); ok {
		w.script(text, arguments, failsAtOnce, at)
		return
	}
	if by, ok := w.base.WaiterByCommand(words); ok && (!by.Tests || w.program.IsRestarted) {
		w.wait(by, words[1:], at.runs && at.required)
		return
	}
	for _, word := range words { // of another language
		text := word
		if file, ok := w.program.Files[path.Clean(word)]; ok {
			text = file
		}
		w.mayWait(text)
	}
}

// mayWait adds a text that is not understood, if it pauses in a loop.
func (w *waitReader) mayWait(text string) {
	if strings.Contains(text, "sleep") && looping.MatchString(text) {
		w.found = append(w.found, Wait{Text: w.expand(text)})
	}
}

// script follows a script.
func (w *waitReader) script(text string, arguments []string, failsAtOnce bool, at place) {
	s, ok := readScript(text)
	if !ok {
		w.mayWait(text)
		return
	}
	functions, before, done := w.functions, w.failsAtOnce, w.mayBeDone
	w.functions, w.failsAtOnce = s.functions, failsAtOnce
	w.inside(arguments, func() { w.list(s.commands, at) })
	w.functions, w.failsAtOnce, w.mayBeDone = functions, before, done
}

var looping = lazyregexp.New(`\b(?:until|while|for)\b`)

// inside follows what arguments are given to.
func (w *waitReader) inside(arguments []string, follow func()) {
	before := maps.Clone(w.variables)
	for i, argument := range arguments {
		w.variables[strconv.Itoa(i+1)] = argument
	}
	w.variables["@"], w.variables["*"] = strings.Join(arguments, " "), strings.Join(arguments, " ")
	w.depth++
	follow()
	w.depth--
	w.variables = before
}

// assign reads the assignments at the start of a command, and returns the rest with
// variables replaced.
func (w *waitReader) assign(words []string) []string {
	for len(words) > 0 && (assignment.MatchString(words[0]) || slices.Contains([]string{"export", "local", "readonly"}, words[0])) {
		if name, value, ok := strings.Cut(words[0], "="); ok {
			w.variables[name] = w.expand(value)
		}
		words = words[1:]
	}
	all := make([]string, len(words))
	for i, word := range words {
		if all[i] = w.expand(word); i > 0 && strings.ContainsAny(word, "\n;") {
			all[i] = word // a script, which replaces them itself
		}
	}
	return all
}

// withoutPrefixes returns a command line without what precedes the program, such as exec, env and
// timeout with their arguments.
func (w *waitReader) withoutPrefixes(words []string) []string {
	words = w.assign(words)
	for len(words) > 0 && slices.Contains(prefixes, path.Base(words[0])) {
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || duration.MatchString(words[0]) || assignment.MatchString(words[0])) {
			words = words[1:]
		}
	}
	return words
}

var (
	prefixes = []string{"exec", "env", "sudo", "nice", "time", "timeout", "command", "busybox", "tini", "dumb-init", "stdbuf", "nohup"}
	duration = lazyregexp.New(`^[\d.]+[smhd]?$|^[A-Z]+$`)
)

// expand replaces $NAME, ${NAME} and ${NAME:-default}. Unknown names are kept.
func (w *waitReader) expand(text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	expanded := shellVariable.ReplaceAllStringFunc(text, func(use string) string {
		m := shellVariable.FindStringSubmatch(use)
		value := w.variables[m[1]+m[3]]
		switch _, known := w.variables[m[1]+m[3]]; {
		case value != "":
			return value
		case m[2] != "":
			return strings.TrimLeft(m[2], ":-")
		case known:
			return ""
		}
		return use
	})
	if len(expanded) > longestWord {
		return ""
	}
	return expanded
}

var shellVariable = lazyregexp.New(`\$\{(\w+)(:?-[^}]*)?\}|\$(\w+|[@*])`)

// wait adds the wait of a program with some arguments.
func (w *waitReader) wait(by *knowledge.Waiter, arguments []string, isSure bool) {
	words := append([]string{by.Commands[0]}, arguments...)
	for _, name := range slices.Sorted(maps.Keys(by.Variables)) {
		words = append(words, w.variables[name])
	}
	found := Wait{Text: strings.Join(words, " "), ByVariables: len(by.Variables) > 0 || by.MayWait}
	if isSure && by.Holds(arguments) {
		found.Targets = targetsOf(w.base, by, arguments, w.variables)
	}
	w.found = append(w.found, found)
}
