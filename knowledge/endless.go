package knowledge

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// Endless is a program that does not end before somebody stops it.
type Endless struct {
	// Commands are the program without its directory, with words that it needs.
	Commands []string `yaml:"commands"`
	// Images are the repositories of images that run it, without the registry, unless their first
	// argument is another subcommand than Arguments.
	Images    []string `yaml:"images"`
	Arguments []string `yaml:"arguments"`
	// Unless are parts of its arguments, variables and files with which it ends by itself.
	Unless []string `yaml:"unless"`
	// Stops are what other containers do to end it.
	Stops []Stop `yaml:"stops"`
	// Why is the verb of a sentence.
	Why    string `yaml:"why"`
	Source string `yaml:"source"`
}

// Stop is a way to end a program from another container.
type Stop struct {
	// Says are parts of what the other container runs; none if it sends a signal.
	Says []string `yaml:"says"`
	// Needs are parts of the program's own arguments and variables, one of which it needs.
	Needs []string `yaml:"needs"`
}

// EndlessCommand returns the program that a command line runs, if it does not end by itself.
func (b *Base) EndlessCommand(words []string) (*Endless, bool) {
	if len(words) == 0 {
		return nil, false
	}
	all := programs().Endless
	for i := range all {
		if slices.ContainsFunc(all[i].Commands, func(command string) bool { return begins(words, strings.Fields(command)) }) {
			return &all[i], !all[i].EndsWith(strings.Join(words, " "))
		}
	}
	if path.Base(words[0]) == "sleep" && slices.ContainsFunc(words[1:], isLongerThanADay) {
		return b.EndlessCommand([]string{"sleep", "infinity"})
	}
	return nil, false
}

// EndlessImage returns the program that a container runs whose image says that, or which runs it
// behind an entrypoint, if it does not end by itself.
func (b *Base) EndlessImage(image string, command, arguments []string) (*Endless, bool) {
	e, ok := running(image, programs().Endless, func(e Endless) []string { return e.Images })
	if !ok {
		return nil, false
	}
	if len(command) == 0 {
		isOther := len(arguments) > 0 && subcommand.MatchString(arguments[0]) && !slices.Contains(e.Arguments, arguments[0])
		return &e, !isOther
	}
	words := slices.Concat(command, arguments)
	for i := range min(len(words), 3) {
		if by, ok := b.EndlessCommand(words[i:]); ok {
			return by, true
		}
		if words[i] != "--" && strings.HasPrefix(words[i], "-") || path.Base(words[i]) == "timeout" {
			break // its value, or what ends it
		}
	}
	return nil, false
}

// subcommand matches an argument that says what a program does.
var subcommand = lazyregexp.New(`^[a-z][a-z-]*$`)

// begins reports whether a command line starts with a command, whose flags may stand anywhere.
func begins(words, command []string) bool {
	return isCommand(words, command) && !slices.ContainsFunc(command[1:], func(word string) bool { return word[0] != '-' && words[1] != word })
}

// EndsWith reports whether the program ends by itself, given its arguments, variables and files.
func (e *Endless) EndsWith(text string) bool { return containsPart(" "+text+" ", e.Unless) }

// Stops reports whether another container ends a program, given what both run. A signal reaches it
// only if they share their processes.
func (b *Base) Stops(e *Endless, own, other string, sharesProcesses bool) bool {
	isSignaled := sharesProcesses && b.SendsSignals(other)
	if len(e.Stops) == 0 {
		return isSignaled
	}
	return slices.ContainsFunc(e.Stops, func(s Stop) bool {
		isTold := containsPart(other, s.Says) || len(s.Says) == 0 && isSignaled
		return isTold && (len(s.Needs) == 0 || containsPart(own, s.Needs))
	})
}

// IsStoppable reports whether a program is set up to be stopped by another container, given what it
// runs: the image of that container may contain what does so.
func (e *Endless) IsStoppable(own string) bool {
	return slices.ContainsFunc(e.Stops, func(s Stop) bool { return len(s.Needs) > 0 && containsPart(own, s.Needs) })
}

// SendsSignals reports whether a command line or script ends other programs.
func (b *Base) SendsSignals(script string) bool {
	return slices.ContainsFunc(names().Signals, func(command string) bool { return runs(script, command) })
}

func containsPart(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// isLongerThanADay reports whether an argument of sleep is at least a day.
func isLongerThanADay(duration string) bool {
	number := strings.TrimRight(duration, "smhd")
	seconds, err := strconv.ParseFloat(number, 64)
	unit := map[string]float64{"": 1, "s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}[duration[len(number):]]
	return err == nil && seconds*unit >= 24*60*60
}
