package text

import (
	"path"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

// OutsideStores returns a text without the commands of clients of stores and without statements
// of SQL: their words are the names of databases, users, buckets and topics.
func OutsideStores(base *knowledge.Base, w Word) string {
	if w.IsFile && statementFiles[strings.ToLower(path.Ext(w.Name))] {
		return ""
	}
	var kept strings.Builder
	for rest := strings.ReplaceAll(w.Value, "\\\n", "  "); rest != ""; {
		end := commandEnd(rest)
		command := rest[:end]
		if isClient(base, command) {
			end = inputEnd(rest, end)
			command = "\n"
		}
		kept.WriteString(command)
		rest = rest[end:]
	}
	return statements.ReplaceAllString(kept.String(), " ")
}

// IsStoreClient reports whether the first word of a command line is a client of a store.
func IsStoreClient(base *knowledge.Base, program string) bool {
	return base.IsStoreClient(strings.TrimSuffix(path.Base(program), ".sh"))
}

// commandEnd returns the end of the first command of a script: behind the mark after it.
func commandEnd(script string) int {
	quote := byte(0)
	for at := range len(script) {
		switch c := script[at]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte("\n;&|()`", c) >= 0:
			return at + 1
		}
	}
	return len(script)
}

// inputEnd returns the end of the text that a command reads from the script itself: if it
// has one, behind the line with its mark, and otherwise the end of the command.
func inputEnd(script string, end int) int {
	m := inputMark.FindStringSubmatch(script[:end])
	if m == nil {
		return end
	}
	body := script[end:]
	for at := 0; at < len(body); {
		line, _, _ := strings.Cut(body[at:], "\n")
		at = min(len(body), at+len(line)+1)
		if strings.Trim(line, " \t\r") == m[1] {
			return end + at
		}
	}
	return end
}

// isClient reports whether the program of a command is a client of a store.
func isClient(base *knowledge.Base, command string) bool {
	for word := range strings.FieldsSeq(command) {
		word = strings.Trim(word, "\"'")
		if word == "" || strings.HasPrefix(word, "-") || base.RunsProgram(word) || assignment.MatchString(word) {
			continue
		}
		return IsStoreClient(base, word)
	}
	return false
}

var (
	statementFiles = map[string]bool{".sql": true, ".cql": true, ".psql": true}
	// inputMark matches the start of a text that follows a command, as in psql <<EOF.
	inputMark = lazyregexp.New(`<<-?\s*["']?(\w+)`)
	// statements match statements of SQL up to the end of the statement, the line or the text in quotes.
	statements = lazyregexp.New(`(?i)\b(?:(?:create|alter|drop)\s+(?:or\s+replace\s+)?` +
		`(?:database|schema|role|user|group|table|extension|keyspace|tablespace|index|view|login|publication)|` +
		`grant\s[\w\s,*.]+\s(?:on|to)|revoke\s[\w\s,*.]+\s(?:on|from)|insert\s+into|comment\s+on|reassign\s+owned)\b(?:"[\w.-]+"|[^;\n"])*`)
)
