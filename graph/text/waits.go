package text

import (
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Program is what a container runs.
type Program struct {
	Image string
	// Command is the command line; empty if the image says it. Arguments follow it.
	Command, Arguments []string
	// Files are mounted scripts by their paths.
	Files map[string]string
	// Variables are those of its environment.
	Variables map[string]string
	// IsRestarted means that it is started again without limit when it fails, so that a
	// command that tests once waits, too.
	IsRestarted bool
}

// Wait is a part of a program in which it waits until something responds.
type Wait struct {
	// Text is the part, as far as it is understood, in which names may stand.
	Text string
	// ByVariables means that the variables of the container say for what it waits.
	ByVariables bool
	// Targets are what it certainly waits for: it never goes on before they respond.
	Targets []Target
}

// Waits returns where a program waits.
func Waits(base *knowledge.Base, p Program) []Wait {
	w := waitReader{base: base, program: p, variables: map[string]string{}}
	for name, value := range p.Variables {
		w.variables[name] = value
	}
	words := slices.Concat(p.Command, p.Arguments)
	if by, ok := base.WaiterByImage(p.Image); ok && len(p.Command) == 0 {
		w.wait(by, p.Arguments, true)
	} else if ok {
		w.found = append(w.found, Wait{Text: strings.Join(words, " "), ByVariables: true})
	}
	w.simple(words, place{runs: true, required: true})
	return w.found
}

// waitReader follows a program.
type waitReader struct {
	base      *knowledge.Base
	program   Program
	functions map[string][]command
	variables map[string]string
	// failsAtOnce means that the script ends with the first command that fails (set -e).
	failsAtOnce bool
	// mayBeDone means that a condition may have ended the program before.
	mayBeDone bool
	depth     int
	found     []Wait
}

// place is where a command stands.
type place struct {
	// runs means that the program certainly gets there, and does not go on before the command
	// ends.
	runs bool
	// required means that the program fails if the command fails.
	required bool
}

// list follows the commands of a list.
func (w *waitReader) list(all []command, at place) {
	for i, c := range all {
		in := w.placeIn(all, i, at)
		switch c.keyword {
		case "until", "while":
			w.loop(c, in.runs)
		case "for":
			last := all[len(all)-1]
			w.repeat(c, in.runs, isFailure(last))
		case "if":
			w.branch(c, in)
		case "(", "{":
			w.list(c.body, in)
		case "":
			if !c.negated {
				w.simple(c.words, in)
			}
		}
		isEnd := c.keyword == "" && len(c.words) > 0 && (c.words[0] == "exit" || c.words[0] == "exec" && len(c.words) > 1)
		if w.mayBeDone = w.mayBeDone || exitsOf([]command{c}) > 0 && !isGuarded(c); isEnd && in.runs {
			return
		}
	}
}

// placeIn returns the place of a command in a list. It is one of a chain of commands that
// "&&", "||" and "|" join. What follows "&&" runs only if the program fails otherwise.
func (w *waitReader) placeIn(all []command, i int, at place) place {
	first, last := chainOf(all, i)
	has := func(from, to int, operator string) bool {
		return slices.ContainsFunc(all[from:to], func(c command) bool { return c.then == operator })
	}
	required := at.required && (last == len(all)-1 || w.failsAtOnce && i == last)
	if has(i, last, "||") {
		required = at.required && isFailure(all[last]) && !has(i, last-1, "||")
	}
	if has(i, last, "|") || all[last].then == "&" {
		required = false
	}
	runs := at.runs && !w.mayBeDone && all[last].then != "&" && !has(first, i, "||")
	if has(first, i, "&&") {
		runs = runs && required
	}
	return place{runs, runs && required}
}

// branch follows an "if". One that ends the program where a test fails is a test.
func (w *waitReader) branch(c command, at place) {
	failsIn := func(list []command) bool { return len(list) > 0 && isFailure(list[len(list)-1]) && exitsOf(list) == 0 }
	if w.program.IsRestarted && len(c.condition) == 1 &&
		failsIn(map[bool][]command{true: c.body, false: c.otherwise}[c.condition[0].negated]) {
		test := c.condition[0]
		test.negated = false
		for _, words := range w.tests([]command{test}) {
			w.simple(words, place{at.runs, at.runs})
		}
	}
	for _, list := range [][]command{c.body, c.otherwise} {
		w.list(list, place{})
	}
}

// loop follows an "until" or "while".
func (w *waitReader) loop(c command, isSure bool) {
	text := w.textOf([]command{c})
	isEndless := len(c.condition) == 1 && len(c.condition[0].words) > 0 &&
		slices.Contains([]string{"true", ":", "false"}, c.condition[0].words[0])
	if c.keyword == "until" || strings.Contains(text, "sleep") || len(c.condition) > 0 && c.condition[0].negated {
		w.found = append(w.found, Wait{Text: text})
	} else if !isEndless {
		return
	}
	condition := c.condition
	switch {
	case w.mayEnd(c.body):
		return
	case isEndless:
		condition = guardOf(c.body)
	case leavesOf(c.body) > 0:
		return
	case c.keyword == "while":
		condition = w.failing(condition)
	}
	for _, words := range w.tests(condition) {
		if by, ok := w.base.WaiterByCommand(words); ok && isSure {
			w.wait(by, words[1:], true)
		}
	}
}

// failing returns the list that fails where the condition of a "while" holds.
func (w *waitReader) failing(condition []command) []command {
	if len(condition) != 1 {
		return nil
	}
	c := condition[0]
	if c.negated {
		c.negated = false
		return []command{c}
	}
	for i, word := range c.words {
		if opposite, ok := opposites[word]; ok {
			c.words = slices.Clone(c.words)
			c.words[i] = opposite
			return []command{c}
		}
	}
	return nil
}

// opposites are comparisons of test, with what they are the opposite of.
var opposites = map[string]string{"!=": "=", "-ne": "-eq", "-lt": "-ge", "-z": "-n"}

// repeat follows a "for": over words, once for each; and otherwise a limited number of
// times, after which the program goes on, unless it then fails.
func (w *waitReader) repeat(c command, isSure, failsAfter bool) {
	if text := w.textOf([]command{c}); strings.Contains(text, "sleep") {
		w.found = append(w.found, Wait{Text: text})
	}
	words := strings.Fields(w.expand(strings.Join(c.words, " ")))
	isCount := len(words) == 0 || slices.ContainsFunc(words, func(word string) bool {
		return strings.ContainsAny(word, "*$`{(") || number.MatchString(word)
	})
	const most = 32
	if isCount || len(words) > most {
		if isSure && failsAfter && exitsOf(c.body) == 1 && leavesOf(c.body) == 1 {
			for _, test := range w.tests(guardOf(c.body)) {
				if by, ok := w.base.WaiterByCommand(test); ok {
					w.wait(by, test[1:], true)
				}
			}
		}
		return
	}
	for _, word := range words {
		w.variables[c.name] = word
		w.list(c.body, place{runs: isSure && leavesOf(c.body) == 0, required: w.failsAtOnce})
	}
}

var number = lazyregexp.New(`^\d+$`)

// tests returns the simple commands that must succeed for a list to succeed.
func (w *waitReader) tests(list []command) (all [][]string) {
	if len(list) == 0 {
		return nil
	}
	first, _ := chainOf(list, len(list)-1)
	if slices.ContainsFunc(list[first:], func(c command) bool { return c.then == "||" || c.then == "&" || c.negated }) {
		return nil
	}
	for i, c := range list[first:] {
		if c.then == "|" && !isSearch(list[first:][i+1]) {
			continue
		}
		switch {
		case c.keyword == "(" || c.keyword == "{":
			all = append(all, w.tests(c.body)...)
		case c.keyword != "" || len(c.words) == 0:
		case c.words[0] == "[" || c.words[0] == "[[" || c.words[0] == "test":
			all = append(all, w.compared(c.words)...)
		default:
			all = append(all, w.testsOf(w.withoutPrefixes(c.words))...)
		}
	}
	return slices.DeleteFunc(all, func(words []string) bool { return len(words) == 0 })
}

// testsOf returns a simple command or, if it is a script or a function, what must succeed in it.
func (w *waitReader) testsOf(words []string) (all [][]string) {
	const deepest = 8
	if len(words) == 0 || w.depth > deepest {
		return nil
	}
	if body, ok := w.functions[words[0]]; ok {
		w.inside(words[1:], func() { all = w.tests(body) })
		return all
	}
	if text, arguments, _, ok := w.scriptIn(words); ok {
		if inner, ok := readScript(text); ok {
			w.inside(arguments, func() { all = w.tests(inner.commands) })
		}
		return all
	}
	return [][]string{words}
}

// isSearch reports whether a command succeeds only if it reads something in particular.
func isSearch(c command) bool {
	return len(c.words) > 1 && strings.HasSuffix(c.words[0], "grep") && !c.negated && !slices.ContainsFunc(c.words, func(word string) bool {
		return strings.HasPrefix(word, "-") && strings.Contains(word, "v")
	})
}

// compared returns the commands whose output a test compares with something.
func (w *waitReader) compared(words []string) (all [][]string) {
	line := strings.Join(words, " ")
	demands := func(word string) bool { return slices.Contains([]string{"=", "==", "-eq", "-ge", "-gt", "-n"}, word) }
	if !slices.ContainsFunc(words, demands) || nothing.MatchString(line) {
		return nil
	}
	for _, m := range substitution.FindAllStringSubmatch(line, -1) {
		if inner, ok := readScript(m[1] + m[2]); ok && len(inner.commands) > 0 && inner.commands[0].keyword == "" {
			all = append(all, w.withoutPrefixes(inner.commands[0].words))
		}
	}
	return all
}

var (
	substitution = lazyregexp.New("\\$\\((.*)\\)|`([^`]*)`")
	// nothing matches comparisons with zero, which hold where something is gone.
	nothing = lazyregexp.New(`(?:=|-eq|-ge) ['"]?0*['"]?(?: \]|$)`)
)

// textOf returns the words of some commands.
func (w *waitReader) textOf(all []command) string {
	var b strings.Builder
	for _, c := range all {
		if c.negated {
			b.WriteString("! ")
		}
		b.WriteString(w.expand(strings.Join(c.words, " ")) + " ")
		for _, list := range [][]command{c.condition, c.body, c.otherwise} {
			b.WriteString(w.textOf(list))
		}
	}
	return b.String()
}

// guardOf returns the list that must succeed for the only command in a list that leaves the
// loop around it.
func guardOf(body []command) []command {
	if leavesOf(body) != 1 {
		return nil
	}
	for i, c := range body {
		switch {
		case c.keyword == "if" && leavesOf(c.body) == 1 && leavesOf(c.condition) == 0:
			return c.condition
		case i > 0 && leavesOf([]command{c}) == 1 && body[i-1].then == "&&":
			from := i - 1
			for from > 0 && body[from-1].then != ";" {
				from--
			}
			guard := slices.Clone(body[from:i])
			guard[len(guard)-1].then = ";"
			return guard
		}
	}
	return nil
}

// isGuarded reports whether a loop is left only where something responds.
func isGuarded(c command) bool {
	return slices.Contains([]string{"until", "while", "for"}, c.keyword) && guardOf(c.body) != nil
}

// leavesOf counts the commands that leave the loop around a list, or end the program well.
func leavesOf(all []command) (n int) {
	for _, c := range all {
		if len(c.words) > 0 && c.keyword == "" && (c.words[0] == "break" || c.words[0] == "return") {
			n++
		}
		if c.keyword == "case" && (slices.Contains(c.words, "break") || slices.Contains(c.words, "return")) {
			n++
		}
		if !slices.Contains([]string{"until", "while", "for"}, c.keyword) {
			n += leavesOf(c.condition) + leavesOf(c.body) + leavesOf(c.otherwise)
		} else {
			n += exitsOf(c.body)
		}
	}
	return n + exitsHere(all)
}

// mayEnd reports whether a function that commands call ends the program well.
func (w *waitReader) mayEnd(all []command) bool {
	return slices.ContainsFunc(all, func(c command) bool {
		isCall := c.keyword == "" && len(c.words) > 0 && exitsOf(w.functions[c.words[0]]) > 0
		return isCall || w.mayEnd(c.condition) || w.mayEnd(c.body) || w.mayEnd(c.otherwise)
	})
}

// exitsOf counts the commands in a list that end the program well.
func exitsOf(all []command) (n int) {
	for _, c := range all {
		n += exitsOf(c.condition) + exitsOf(c.body) + exitsOf(c.otherwise)
	}
	return n + exitsHere(all)
}

func exitsHere(all []command) (n int) {
	for _, c := range all {
		switch {
		case c.keyword == "case" && slices.Contains(c.words, "exit"):
			n++
		case len(c.words) > 0 && (c.words[0] == "exec" && len(c.words) > 1 || c.words[0] == "exit" && !isFailure(c)):
			n++
		}
	}
	return n
}

// isFailure reports whether a command certainly fails, or ends the program with a failure.
func isFailure(c command) bool {
	switch {
	case (c.keyword == "{" || c.keyword == "(") && len(c.body) > 0:
		return isFailure(c.body[len(c.body)-1])
	case len(c.words) == 0 || c.keyword != "":
		return false
	case c.words[0] == "exit" || c.words[0] == "return":
		return len(c.words) > 1 && c.words[1] != "0" && !strings.Contains(c.words[1], "$")
	}
	return c.words[0] == "false"
}

// scriptIn returns the script that a command line runs: after "-c" of a shell, or in a
// mounted file, with its arguments.
func (w *waitReader) scriptIn(words []string) (text string, arguments []string, failsAtOnce, ok bool) {
	isShell := IsShell(words[0])
	for i, word := range words {
		switch {
		case !isShell || i > 0 && !strings.HasPrefix(word, "-"):
			text, ok = w.program.Files[path.Clean(word)]
			return text, words[i+1:], failsAtOnce || shebang.MatchString(text), ok
		case i > 0 && !strings.HasPrefix(word, "--"):
			failsAtOnce = failsAtOnce || strings.Contains(word, "e")
			if strings.Contains(word, "c") && i+1 < len(words) {
				return words[i+1], words[min(i+3, len(words)):], failsAtOnce, true
			}
		}
	}
	return "", nil, false, false
}

// IsShell reports whether a program is a shell.
func IsShell(program string) bool {
	return slices.Contains([]string{"sh", "bash", "ash", "dash", "zsh", "ksh"}, path.Base(program))
}

var shebang = lazyregexp.New(`^#!\S*/(?:ba|da|a)?sh -\w*e`)
