package object

import "strings"

// IsBasic reports whether a text is one mapping in YAML that every parser accepts, without
// parsing it: in block style, without anchors, tags and other rare parts of YAML. It is false
// for much that is valid, and for lists of objects. It is for CRDs, of which Parse leaves out
// nine tenths; most of them are basic.
func IsBasic(text string) bool {
	s := basic{open: []basicBlock{{column: -1, waits: true}}, literal: -1}
	for line := range strings.Lines(text) {
		if !s.line(strings.TrimSuffix(line, "\n")) {
			return false
		}
	}
	return s.quote == 0 && len(s.open) > 1 && !s.open[1].list
}

// IsBasic is IsBasic of the text, which it reads once.
func (o Object) IsBasic() bool {
	d := o.doc
	d.basicOnce.Do(func() { d.basic = IsBasic(d.content()) })
	return d.basic
}

// basic is the state after some lines of a text.
type basic struct {
	open []basicBlock // from the outermost inwards
	// quote is the quotation mark of a scalar that continues on the next line; 0 if there is none.
	quote byte
	// plain means that the next line may continue a scalar without quotes.
	plain bool
	// literal is the column of the block that has a literal as its last value; -1 if the last
	// value is none. inside is the indentation of the literal, 0 before its first line.
	literal, inside int
}

// basicBlock is a mapping or a list.
type basicBlock struct {
	column int
	list   bool
	waits  bool // for a value of its last entry
}

// maxBasicDepth and maxBasicKey are far below the limits of parsers.
const (
	maxBasicDepth = 100
	maxBasicKey   = 300
)

func (s *basic) line(line string) bool {
	if !isPrintable(line) {
		return false
	}
	rest := strings.TrimLeft(line, " ")
	column := len(line) - len(rest)
	if s.literal >= 0 {
		switch {
		case rest == "":
			return s.inside > 0 || column == 0 // spaces may be more than those of the first line
		case s.inside == 0 && column > s.literal:
			s.inside = column
			return rest[0] != '\t'
		case s.inside > 0 && column >= s.inside:
			return true
		}
		s.literal = -1
	}
	rest = strings.TrimRight(rest, " ")
	switch {
	case strings.Contains(rest, "\t"):
		return false
	case s.quote != 0:
		return (rest == "" || column > s.innermost().column) && s.quoted(rest)
	case rest == "":
		return true
	case rest[0] == '#':
		s.plain = false
		return true
	case s.plain && column > s.innermost().column:
		return isContinued(rest)
	}
	s.plain = false
	return s.entry(rest, column)
}

// isPrintable reports whether a line has only characters that YAML allows everywhere, and no
// line breaks of other kinds.
func isPrintable(line string) bool {
	ascii := true
	for i := range len(line) {
		c := line[i]
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
		ascii = ascii && c < 0x80
	}
	return ascii || plain(line)
}

func (s *basic) innermost() *basicBlock { return &s.open[len(s.open)-1] }

// entry reads a line that starts with an entry of a mapping or of a list.
func (s *basic) entry(rest string, column int) bool {
	inItem := false
	for {
		after, item := strings.CutPrefix(rest, "-")
		if item = item && (after == "" || after[0] == ' '); !item {
			break
		}
		inItem = true
		if !s.enter(column, true) {
			return false
		}
		value := strings.TrimLeft(after, " ")
		column += len(rest) - len(value)
		if rest = value; rest == "" {
			return true
		}
	}
	key, value, found := cutKey(rest)
	if !found {
		return inItem && s.value(rest)
	}
	if !isBasicKey(key) || column == 0 && strings.Trim(key, `"'`) == "items" || isMiswritten(key) || !s.enter(column, false) {
		return false
	}
	return value == "" || s.value(value)
}

// enter begins an entry of a mapping or a list at a column, which may be a new one.
func (s *basic) enter(column int, list bool) bool {
	for len(s.open) > 1 {
		top := s.innermost()
		// A list may have the column of the mapping that it is in.
		if top.column < column || top.column == column && (list || !top.list) {
			break
		}
		s.open = s.open[:len(s.open)-1]
	}
	top := s.innermost()
	if top.column == column && top.list == list {
		top.waits = true
		return true
	}
	if !top.waits || len(s.open) > maxBasicDepth {
		return false
	}
	top.waits = false
	s.open = append(s.open, basicBlock{column: column, list: list, waits: true})
	return true
}

// cutKey divides a line into a key and the value after it.
func cutKey(line string) (key, value string, found bool) {
	if line[0] == '"' || line[0] == '\'' {
		end := strings.IndexByte(line[1:], line[0]) + 2
		if rest, ok := strings.CutPrefix(line[end:], ":"); end > 1 && ok && (rest == "" || rest[0] == ' ') {
			return line[:end], strings.TrimLeft(rest, " "), true
		}
		return "", "", false
	}
	if key, value, found = strings.Cut(line, ": "); found {
		return key, strings.TrimLeft(value, " "), true
	}
	key, found = strings.CutSuffix(line, ":")
	return key, "", found
}

// isBasicKey reports whether a key is a string, in quotes or not.
func isBasicKey(key string) bool {
	bare := key
	if key != "" && (key[0] == '"' || key[0] == '\'') {
		bare = key[1 : len(key)-1]
	} else if key == "" || !isLetter(key[0]) && key[0] != '_' && key[0] != '$' || strings.EqualFold(key, "null") {
		return false
	}
	for i := range len(bare) {
		if c := bare[i]; !isLetter(c) && (c < '0' || c > '9') && !strings.ContainsRune("-_./$", rune(c)) {
			return false
		}
	}
	return len(bare) <= maxBasicKey
}

// isMiswritten reports whether a key could be taken for a field that Helm sorts by: JSON ignores
// case.
func isMiswritten(key string) bool {
	key = strings.Trim(key, `"'`)
	for _, field := range []string{"kind", "metadata", "annotations"} {
		if len(key) == len(field) && key != field && strings.EqualFold(key, field) {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// value reads a value that starts on the line of its key.
func (s *basic) value(v string) bool {
	top := s.innermost()
	top.waits = false
	switch v {
	case "|", "|-", ">", ">-":
		s.literal, s.inside = top.column, 0
		return true
	case "[]", "{}":
		return true
	case "=", "<<":
		return false
	}
	switch strings.ToLower(strings.TrimLeft(v, "+-")) {
	case ".nan", ".inf": // are no JSON
		return false
	}
	switch v[0] {
	case '"', '\'':
		s.quote = v[0]
		return s.quoted(v[1:])
	case '[', '{', '&', '*', '!', '%', '@', '`', '#', ',', ']', '}', '?', ':', '|', '>':
		return false
	}
	s.plain = true
	return isContinued(v) && !strings.HasPrefix(v, "- ") && v != "-"
}

// isContinued reports whether a line of a scalar without quotes ends without a comment, and
// contains nothing that looks like a key.
func isContinued(line string) bool {
	return !strings.Contains(line, ": ") && !strings.HasSuffix(line, ":") && !strings.Contains(line, " #") &&
		!strings.HasPrefix(line, "- ") && line[0] != '#'
}

// quoted reads a line of a scalar in quotes, from behind its quotation mark.
func (s *basic) quoted(line string) bool {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case s.quote == '"' && c == '\\':
			if i++; i < len(line) && !strings.ContainsRune(`"\nt `, rune(line[i])) { // at the end, the line break is escaped
				return false
			}
		case c != s.quote:
		case c == '\'' && i+1 < len(line) && line[i+1] == '\'':
			i++
		default:
			s.quote = 0
			return i+1 == len(line)
		}
	}
	return true
}
