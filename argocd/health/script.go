package health

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Script returns a health check in Lua: that of the record, or locals for the fields that
// the record reads, and a chain of ifs over them.
func Script(s knowledge.Status) string {
	w := &writer{sees: s, names: map[string]string{}}
	for _, line := range comment(s) {
		w.line("-- %s", line)
	}
	if s.Script != "" {
		return w.text.String() + s.Script
	}
	w.line("local hs = {status = %q, message = %q}", "Progressing", "waiting for "+w.first())
	w.line("local status = obj.status or {}")
	if s.Generation != "" && s.Generation != knowledge.OfCondition {
		w.line("local observed = tonumber(%s)", value(s.Generation))
	}
	for _, sign := range s.Signs() {
		if sign.At != "" && w.names[sign.At] == "" {
			w.line("local %s = %s", w.name(sign.At, sign.At), value(sign.At))
		}
	}
	if s.Under == "" {
		w.conditions("status")
		w.chain()
	} else {
		w.line("for _, entry in ipairs(%s or {}) do", value(s.Under))
		w.depth++
		w.conditions("entry")
		w.chain()
		w.line("if hs.status ~= %q then", "Healthy")
		w.line("  return hs")
		w.line("end")
		w.depth--
		w.line("end")
	}
	w.line("return hs")
	return w.text.String()
}

// writer writes the Lua of one check.
type writer struct {
	sees  knowledge.Status
	text  strings.Builder
	depth int
	// names are the locals of paths, and of the types of conditions.
	names map[string]string
	begun bool // the chain has its if
}

func (w *writer) line(format string, args ...any) {
	w.text.WriteString(strings.Repeat("  ", w.depth))
	fmt.Fprintf(&w.text, format+"\n", args...)
}

// first names what the object waits for at first.
func (w *writer) first() string {
	if len(w.sees.Healthy) == 0 {
		return "its status"
	}
	return called(w.sees.Healthy[0])
}

// conditions collects the conditions of a place by their types, and makes a local of each
// that is looked at. Conditions of an older generation say nothing.
func (w *writer) conditions(place string) {
	var types []string
	for _, sign := range w.sees.Signs() {
		if sign.Condition != "" && !slices.Contains(types, sign.Condition) {
			types = append(types, sign.Condition)
		}
	}
	if len(types) == 0 {
		return
	}
	w.line("local conditions = {}")
	w.line("for _, c in ipairs(%s.conditions or {}) do", place)
	if w.sees.Generation == knowledge.OfCondition {
		w.line("  local observed = tonumber(c.observedGeneration)")
		w.line("  if observed == nil or observed >= (obj.metadata.generation or 0) then")
		w.line("    conditions[c.type] = conditions[c.type] or c")
		w.line("  end")
	} else {
		w.line("  conditions[c.type] = conditions[c.type] or c")
	}
	w.line("end")
	for _, kind := range types {
		w.line("local %s = conditions%s or {}", w.name("condition "+kind, kind), index(kind))
	}
}

// chain compares what was collected. The first branch that applies decides.
func (w *writer) chain() {
	w.begun = false
	if w.sees.Generation != "" && w.sees.Generation != knowledge.OfCondition {
		w.branch("observed ~= nil and observed < (obj.metadata.generation or 0)", `"Progressing"`, `"waiting for a status of the latest change"`)
	}
	tries := []struct {
		status string
		signs  []knowledge.Sign
	}{{"Progressing", w.sees.Progressing}, {"Degraded", w.sees.Degraded}, {"Suspended", w.sees.Suspended}}
	if path := w.statusAt(); path != "" {
		var values []string
		for _, sign := range slices.Concat(w.sees.Degraded, w.sees.Suspended, w.sees.Healthy) {
			values = append(values, sign.Is[0])
		}
		tries = tries[:1]
		w.tries(tries[0].status, tries[0].signs)
		local := w.names[path]
		w.branch(w.shows(knowledge.Sign{At: path, Is: values}), local, fmt.Sprintf("%q .. %s", path+" is ", local))
		w.otherwise(w.sees.Healthy[0])
		return
	}
	for _, t := range tries {
		w.tries(t.status, t.signs)
	}
	w.healthy()
}

// statusAt is the path of a value that is itself one of Argo CD's statuses; empty if the
// record is about something else.
func (w *writer) statusAt() string {
	if len(w.sees.Healthy) != 1 || len(w.sees.Degraded)+len(w.sees.Suspended) == 0 {
		return ""
	}
	path := w.sees.Healthy[0].At
	for status, signs := range map[string][]knowledge.Sign{"Degraded": w.sees.Degraded, "Suspended": w.sees.Suspended,
		"Healthy": w.sees.Healthy} {
		for _, sign := range signs {
			if sign.At != path || !slices.Equal(sign.Is, []string{status}) {
				return ""
			}
		}
	}
	return path
}

func (w *writer) tries(status string, signs []knowledge.Sign) {
	for _, sign := range signs {
		w.branch(w.shows(sign), fmt.Sprintf("%q", status), w.message(sign))
	}
}

// healthy ends the chain: all signs must show.
func (w *writer) healthy() {
	all := w.sees.Healthy
	if len(all) == 1 {
		w.branch(w.shows(all[0]), `"Healthy"`, w.message(all[0]))
		w.otherwise(all[0])
		return
	}
	for _, sign := range all {
		w.branch(w.hides(sign), `"Progressing"`, w.missing(sign))
	}
	if !w.begun {
		w.line("hs.status = %q", "Healthy")
		return
	}
	w.line("else")
	w.result(`"Healthy"`, w.message(all[len(all)-1]))
	w.line("end")
}

func (w *writer) branch(condition, status, message string) {
	word := "elseif"
	if !w.begun {
		word = "if"
	}
	w.begun = true
	w.line("%s %s then", word, condition)
	w.result(status, message)
}

// result sets what the check returns. Outside of a loop, it is Progressing at first.
func (w *writer) result(status, message string) {
	if status == `"Progressing"` && w.sees.Under == "" {
		w.line("  hs.message = %s", message)
		return
	}
	w.line("  hs = {status = %s, message = %s}", status, message)
}

// otherwise ends the chain with what the object waits for.
func (w *writer) otherwise(sign knowledge.Sign) {
	if sign.At != "" {
		local := w.names[sign.At]
		w.line("elseif %s ~= nil then", local)
	} else {
		w.line("else")
	}
	w.result(`"Progressing"`, w.missing(sign))
	w.line("end")
}

// shows is the expression that is true if a sign shows.
func (w *writer) shows(sign knowledge.Sign) string {
	if sign.At != "" {
		return anyOf(w.names[sign.At], sign.Values())
	}
	local := w.names["condition "+sign.Condition]
	text := anyOf(local+".status", sign.Values())
	if len(sign.Reason) == 0 {
		return text
	}
	if len(sign.Values()) > 1 {
		text = "(" + text + ")"
	}
	reason := anyOf(local+".reason", sign.Reason)
	if len(sign.Reason) > 1 {
		reason = "(" + reason + ")"
	}
	return text + " and " + reason
}

// hides is the opposite of shows.
func (w *writer) hides(sign knowledge.Sign) string {
	text := w.shows(sign)
	if len(sign.Values()) > 1 || len(sign.Reason) > 0 {
		return "not (" + text + ")"
	}
	return strings.Replace(text, " == ", " ~= ", 1)
}

// message is the expression of what a sign says.
func (w *writer) message(sign knowledge.Sign) string {
	if sign.At != "" {
		if values := sign.Values(); len(values) == 1 {
			return fmt.Sprintf("%q", sign.At+" is "+values[0])
		}
		return fmt.Sprintf("%q .. tostring(%s)", sign.At+" is ", w.names[sign.At])
	}
	local := w.names["condition "+sign.Condition]
	return fmt.Sprintf("%s.message or %s.reason or %q", local, local, called(sign))
}

// missing is the expression of what an object waits for that does not show a sign.
func (w *writer) missing(sign knowledge.Sign) string {
	if sign.At != "" {
		return fmt.Sprintf("%q .. tostring(%s)", sign.At+" is ", w.names[sign.At])
	}
	local := w.names["condition "+sign.Condition]
	return fmt.Sprintf("%s.message or %s.reason or %q", local, local, "waiting for "+called(sign))
}

func called(sign knowledge.Sign) string {
	if sign.At != "" {
		return sign.At
	}
	return "condition " + sign.Condition
}

// name makes a local for a path or a condition, of the last word that says something.
func (w *writer) name(of, words string) string {
	parts := strings.FieldsFunc(words, func(r rune) bool { return !letter(r) })
	for len(parts) > 1 && strings.HasPrefix(of, "status.") && parts[len(parts)-1] == "status" {
		parts = parts[:len(parts)-1]
	}
	if strings.HasPrefix(of, "status.") {
		parts = parts[len(parts)-1:]
	}
	var b strings.Builder
	for i, part := range parts {
		if i == 0 {
			part = lowered(part)
		} else {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		b.WriteString(part)
	}
	name := b.String()
	if !identifier.MatchString(name) {
		name = "value"
	}
	for slices.Contains(taken, name) || w.uses(name) {
		name += "Value"
	}
	w.names[of] = name
	return name
}

func (w *writer) uses(name string) bool {
	for _, is := range w.names {
		if is == name {
			return true
		}
	}
	return false
}

// lowered writes the capitals at the beginning of a word small: ready, ackTerminal.
func lowered(word string) string {
	n := 0
	for n < len(word) && 'A' <= word[n] && word[n] <= 'Z' {
		n++
	}
	if n > 1 && n < len(word) {
		n--
	}
	return strings.ToLower(word[:n]) + word[n:]
}

func letter(r rune) bool {
	return '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
}

var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// taken are names that a local cannot have: words of Lua, and those of the script.
var taken = []string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or", "repeat",
	"return", "then", "true", "until", "while", "hs", "obj", "status", "conditions", "observed", "entry", "c", "ipairs",
	"tonumber", "tostring",
}

// index is a key behind a table.
func index(key string) string {
	if identifier.MatchString(key) && !slices.Contains(taken[:21], key) {
		return "." + key
	}
	return fmt.Sprintf("[%q]", key)
}

// value writes a path below the status as Lua that does not stumble over what is missing
// on the way: "(status.health or {}).status".
func value(path string) string {
	below, _ := strings.CutPrefix(path, "status.")
	text := "status"
	for i, key := range strings.Split(below, ".") {
		if i > 0 {
			text = "(" + text + " or {})"
		}
		text += index(key)
	}
	return text
}

// anyOf compares an expression with values. What may be a boolean or a number is compared
// as text.
func anyOf(expression string, values []string) string {
	if slices.ContainsFunc(values, func(v string) bool {
		return v == "true" || v == "false" || strings.ContainsAny(v[:min(1, len(v))], "0123456789-")
	}) {
		expression = "tostring(" + expression + ")"
	}
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf("%s == %q", expression, v))
	}
	return strings.Join(all, " or ")
}

// comment says at the head of a check what it does, for whoever finds it in
// the configuration of Argo CD.
func comment(s knowledge.Status) []string {
	var lines []string
	if s.Note != "" {
		lines = wrap(s.Note, 72)
	}
	return append(lines, "Source: "+s.Source)
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
