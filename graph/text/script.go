package text

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// command is a command of a shell script, as far as it says when the script goes on
// (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_09).
type command struct {
	// keyword is the first word of a compound command, such as "until", "if" or "{"; empty
	// for a simple command.
	keyword string
	// words are those of a simple command, of the list of a "for", or of a "case".
	words []string
	// name is the variable of a "for".
	name string
	// condition, body and otherwise are the lists of a compound command.
	condition, body, otherwise []command
	// negated means that "!" precedes the command.
	negated bool
	// then is the operator behind the command: ";", "&&", "||", "|" or "&".
	then string
}

// script is a shell script.
type script struct {
	commands  []command
	functions map[string][]command
}

// readScript reads a shell script; false if it is none, or has parts that are not
// understood.
func readScript(text string) (script, bool) {
	r := scriptReader{tokens: tokensOf(strings.ReplaceAll(text, "\\\n", " ")), functions: map[string][]command{}}
	commands := r.list()
	return script{commands, r.functions}, !r.failed && r.at == len(r.tokens)
}

// token is a word of a script, without its quotes, or an operator.
type token struct {
	text       string
	isOperator bool
	// isQuoted means that the word has quotes, and is not a keyword.
	isQuoted bool
}

type scriptReader struct {
	tokens    []token
	at        int
	functions map[string][]command
	failed    bool
}

func (r *scriptReader) next() token {
	if r.at < len(r.tokens) {
		r.at++
		return r.tokens[r.at-1]
	}
	r.failed = true
	return token{text: ";", isOperator: true}
}

// isNext reports whether the next token is one of some keywords or operators.
func (r *scriptReader) isNext(texts ...string) bool {
	return r.at < len(r.tokens) && !r.tokens[r.at].isQuoted && slices.Contains(texts, r.tokens[r.at].text)
}

func (r *scriptReader) expect(text string) {
	if !r.isNext(text) {
		r.failed = true
	}
	r.at++
}

// list reads commands up to one of some keywords or operators.
func (r *scriptReader) list(ends ...string) (all []command) {
	for !r.failed && r.at < len(r.tokens) {
		if r.isNext(";") {
			r.at++
			continue
		}
		if r.isNext(ends...) {
			break
		}
		c := r.command()
		if c.then = ";"; r.isNext(";", "&&", "||", "|", "&") {
			c.then = r.next().text
		}
		for c.then != ";" && r.isNext(";") { // an operator continues in the next line
			r.at++
		}
		all = append(all, c)
	}
	return all
}

func (r *scriptReader) command() (c command) {
	if r.isNext("!") {
		r.at++
		c = r.command()
		c.negated = !c.negated
		return c
	}
	first := r.next()
	if first.isQuoted {
		r.at--
		return command{words: r.words()}
	}
	c.keyword = first.text
	switch {
	case first.text == "until" || first.text == "while":
		c.condition = r.list("do")
		c.body = r.loopBody()
	case first.text == "for":
		c.name = r.next().text
		if r.isNext("in") {
			r.at++
			c.words = r.words()
		}
		for r.isNext(";") {
			r.at++
		}
		c.body = r.loopBody()
	case first.text == "if":
		return r.branches()
	case first.text == "case":
		for !r.failed && !r.isNext("esac") {
			c.words = append(c.words, r.next().text)
		}
		r.expect("esac")
	case first.text == "(":
		c.body = r.list(")")
		r.expect(")")
	case first.text == "{":
		c.body = r.list("}")
		r.expect("}")
	case first.isOperator || slices.Contains([]string{"do", "done", "then", "else", "elif", "fi", "esac", "}"}, first.text):
		r.failed = true
	default:
		return r.simple()
	}
	return c
}

// branches reads an "if", of which "elif" is the other branch.
func (r *scriptReader) branches() command {
	c := command{keyword: "if", condition: r.list("then")}
	r.expect("then")
	c.body = r.list("elif", "else", "fi")
	switch {
	case r.isNext("elif"):
		r.at++
		c.otherwise = []command{r.branches()}
		return c
	case r.isNext("else"):
		r.at++
		c.otherwise = r.list("fi")
	}
	r.expect("fi")
	return c
}

func (r *scriptReader) loopBody() []command {
	r.expect("do")
	body := r.list("done")
	r.expect("done")
	return body
}

// simple reads a command whose first word is already read, or the definition of a function.
func (r *scriptReader) simple() command {
	name := r.tokens[r.at-1].text
	if name == "function" && r.at < len(r.tokens) {
		name = r.next().text
		if r.isNext("{") {
			return r.define(name)
		}
	}
	if r.isNext("(") && r.at+1 < len(r.tokens) && r.tokens[r.at+1].text == ")" {
		r.at += 2
		return r.define(name)
	}
	r.at--
	return command{words: r.words()}
}

func (r *scriptReader) define(name string) command {
	for r.isNext(";") {
		r.at++
	}
	r.functions[name] = r.command().body
	return command{words: []string{":"}}
}

// words reads words up to an operator. Those of a test in double brackets may contain any.
func (r *scriptReader) words() (all []string) {
	inTest := r.isNext("[[")
	for r.at < len(r.tokens) && (inTest || !r.tokens[r.at].isOperator) {
		word := r.next().text
		all = append(all, word)
		inTest = inTest && word != "]]"
	}
	return all
}

// tokensOf splits a script into words and operators. Redirections and comments are left out,
// except to "/dev/tcp/host/port", which is a command of its own.
func tokensOf(script string) (all []token) {
	var ends []string // of here-documents in this line
	for at := 0; at < len(script); {
		switch c := script[at]; {
		case c == ' ' || c == '\t' || c == '\r':
			at++
		case c == '#':
			at += lineEnd(script[at:])
		case c == '\n':
			at++
			for _, end := range ends {
				at += len(script[at:]) - len(afterDocument(script[at:], end))
			}
			ends = nil
			all = append(all, token{text: ";", isOperator: true})
		case redirection.MatchString(script[at:]):
			m := redirection.FindString(script[at:])
			at += len(m)
			at += len(script[at:]) - len(strings.TrimLeft(script[at:], " \t"))
			word, _, size := wordAt(script[at:])
			at += size
			switch {
			case strings.HasSuffix(m, "<<") || strings.HasSuffix(m, "<<-"):
				ends = append(ends, word)
			case strings.HasPrefix(word, "/dev/tcp/"):
				host, port, _ := strings.Cut(strings.TrimPrefix(word, "/dev/tcp/"), "/")
				if n := len(all); n > 0 && !all[n-1].isOperator && !slices.Contains(introductions, all[n-1].text) {
					all = append(all, token{text: "&&", isOperator: true})
				}
				all = append(all, token{text: "/dev/tcp"}, token{text: host + ":" + port})
			}
		case strings.IndexByte(";&|()", c) >= 0:
			operator := operators.FindString(script[at:])
			at += len(operator)
			all = append(all, token{text: operator, isOperator: true})
		default:
			word, quoted, size := wordAt(script[at:])
			at += max(size, 1)
			all = append(all, token{text: word, isQuoted: quoted})
		}
	}
	return all
}

var (
	operators   = lazyregexp.New(`^(?:;;|&&|\|\||\|&|[;&|()])`)
	redirection = lazyregexp.New(`^(?:\d*(?:<<<|<<-?|>>|>\||>&|<&|<>|>|<)|&>>?)`)
)

// introductions are keywords before a command.
var introductions = []string{"until", "while", "if", "elif", "do", "then", "else", "{", "!"}

func lineEnd(text string) int {
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return end
	}
	return len(text)
}

// afterDocument returns the text after a here-document.
func afterDocument(text, end string) string {
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		if text = rest; strings.TrimSpace(line) == end {
			break
		}
	}
	return text
}

// wordAt returns the word at the start of a text, whether it has quotes, and how long it is
// in the text. Substitutions are part of the word, whatever they contain.
func wordAt(text string) (word string, quoted bool, size int) {
	var b strings.Builder
	at := 0
	for at < len(text) && strings.IndexByte(" \t\r\n;&|()<>", text[at]) < 0 {
		switch c := text[at]; {
		case c == '\\' && at+1 < len(text):
			b.WriteByte(text[at+1])
			at += 2
		case c == '\'':
			end := strings.IndexByte(text[at+1:], '\'')
			if end < 0 {
				end = len(text) - at - 1
			}
			b.WriteString(text[at+1 : at+1+end])
			at, quoted = min(at+end+2, len(text)), true
		case c == '"':
			end := at + 1
			for end < len(text) && text[end] != '"' {
				end += partSize(text[end:])
			}
			end = min(end, len(text))
			b.WriteString(strings.ReplaceAll(text[at+1:end], `\"`, `"`))
			at, quoted = min(end+1, len(text)), true
		default:
			n := partSize(text[at:])
			b.WriteString(text[at : at+n])
			at += n
		}
	}
	return b.String(), quoted, at
}

// partSize returns the size of the substitution at the start of a text, or of its first
// character.
func partSize(text string) int {
	switch {
	case strings.HasPrefix(text, "\\") && len(text) > 1:
		return 2
	case strings.HasPrefix(text, "$(") || strings.HasPrefix(text, "${"):
		opens, closes := text[1], byte(')')
		if opens == '{' {
			closes = '}'
		}
		depth := 0
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case opens:
				depth++
			case closes:
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return len(text)
	case strings.HasPrefix(text, "`"):
		if end := strings.IndexByte(text[1:], '`'); end >= 0 {
			return end + 2
		}
	}
	return 1
}
