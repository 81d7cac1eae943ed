package knowledge

import (
	"path"
	"slices"
	"strings"
)

// What a Waiter takes as arguments.
const (
	// TakesHosts: hosts, alone or in addresses.
	TakesHosts = "hosts"
	// TakesAddresses: URLs, hosts with ports, and the values of flags for addresses.
	TakesAddresses = "addresses"
	// TakesObjects: objects, as kubectl does.
	TakesObjects = "objects"
)

// Waiter is a program that waits until something responds, or tests it.
type Waiter struct {
	// Commands are the program without its directory, with words that it needs to wait. A "*"
	// at the end stands for any rest.
	Commands []string `yaml:"commands"`
	// Images are last parts of the names of images that run it.
	Images []string `yaml:"images"`
	// Takes is what its arguments are.
	Takes string `yaml:"takes"`
	// Flags are its flags for addresses, where these are not called like others.
	Flags []string `yaml:"flags"`
	// Switches are its flags of one letter without a value.
	Switches string `yaml:"switches"`
	// Apart are flags with a value that is something else.
	Apart []string `yaml:"apart"`
	// Variables are variables that name what it waits for, with the kind of the objects; empty
	// if the value says it.
	Variables map[string]string `yaml:"variables"`
	// Unless are words with which it waits for the opposite, or not at all.
	Unless []string `yaml:"unless"`
	// Continues is a word with which it goes on after a while, unless one of Strict is there.
	Continues string   `yaml:"continues"`
	Strict    []string `yaml:"strict"`
	// Tests means that it fails at once.
	Tests bool `yaml:"-"`
	// Resolves means that it only looks up the name of a host.
	Resolves bool `yaml:"resolves"`
	// SelectsSome means that it waits until a selector selects something.
	SelectsSome bool `yaml:"selectsSome"`
	// MayWait means that nothing says when it goes on.
	MayWait bool   `yaml:"mayWait"`
	Why     string `yaml:"why"`
	Source  string `yaml:"source"`
}

// WaiterByImage returns the program that waits in an image, if it is one.
func (b *Base) WaiterByImage(image string) (*Waiter, bool) {
	name := path.Base(Repository(image))
	return findWaiter(func(w *Waiter) bool {
		return slices.ContainsFunc(w.Images, func(known string) bool { return matchesName(known, name) })
	})
}

// WaiterByCommand returns the program that a command line runs, if it waits or tests.
func (b *Base) WaiterByCommand(words []string) (*Waiter, bool) {
	if len(words) == 0 {
		return nil, false
	}
	return findWaiter(func(w *Waiter) bool {
		return slices.ContainsFunc(w.Commands, func(command string) bool { return isCommand(words, strings.Fields(command)) })
	})
}

func findWaiter(is func(*Waiter) bool) (*Waiter, bool) {
	p := programs()
	if i := slices.IndexFunc(p.Waiters, func(w Waiter) bool { return is(&w) }); i >= 0 {
		return &p.Waiters[i], true
	}
	if i := slices.IndexFunc(p.Testers, func(w Waiter) bool { return is(&w) }); i >= 0 {
		w := p.Testers[i]
		w.Tests = true
		return &w, true
	}
	return nil, false
}

// isCommand reports whether a command line runs a program with its required words. A flag of
// one letter may be combined with others, as in "nc -vz".
func isCommand(words, command []string) bool {
	if !matchesName(command[0], path.Base(words[0])) {
		return false
	}
	return !slices.ContainsFunc(command[1:], func(part string) bool {
		isFlag := len(part) == 2 && part[0] == '-'
		return !slices.ContainsFunc(words[1:], func(word string) bool {
			return word == part || isFlag && strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, part[1:])
		})
	})
}

// matchesName reports whether a name is a known one, of which a "*" at the end is any rest.
func matchesName(known, name string) bool {
	if begin, ok := strings.CutSuffix(known, "*"); ok {
		return strings.HasPrefix(name, begin)
	}
	return known == name
}

// Holds reports whether the program does not go on before what its arguments name responds.
func (w *Waiter) Holds(arguments []string) bool {
	line := " " + strings.Join(arguments, " ") + " "
	has := func(words string) bool { return strings.Contains(line, " "+words+" ") }
	return !w.MayWait && !slices.ContainsFunc(w.Unless, has) && (w.Continues == "" || !has(w.Continues) || slices.ContainsFunc(w.Strict, has))
}

// IsAddressFlag reports whether the value of a flag is an address.
func (w *Waiter) IsAddressFlag(b *Base, flag string) bool {
	if len(w.Flags) > 0 {
		return slices.Contains(w.Flags, flag)
	}
	return b.IsAddressFlag(flag)
}

// AreSwitches reports whether a word is one or several flags of one letter without a value.
func (w *Waiter) AreSwitches(word string) bool {
	letters, isFlag := strings.CutPrefix(word, "-")
	return isFlag && strings.Trim(letters, w.Switches) == ""
}

// IsCommandWord reports whether an argument is one of the words of the program's commands.
func (w *Waiter) IsCommandWord(argument string) bool {
	return slices.ContainsFunc(w.Commands, func(command string) bool { return slices.Contains(strings.Fields(command), argument) })
}

// runs reports whether a command line or script contains a command: a program without its
// directory, and its first arguments.
func runs(script, command string) bool {
	var words []string
	for _, word := range strings.FieldsFunc(strings.ReplaceAll(script, "\\\n", " "), func(r rune) bool {
		return strings.ContainsRune(" \t\n;\"'()&|`!{}", r)
	}) {
		words = append(words, word[strings.LastIndexByte(word, '/')+1:])
	}
	return strings.Contains(" "+strings.Join(words, " ")+" ", " "+command+" ")
}

// RefersToKind reports whether a word before a name refers to a kind.
func (b *Base) RefersToKind(word, kind string) bool {
	return strings.EqualFold(word, kind) || strings.EqualFold(word, kind+"s") || FullKind(word) == kind
}

// FullKind resolves kubectl's short names of kinds, such as deploy for Deployment;
// other words are returned unchanged.
func FullKind(word string) string {
	if kind, short := names().ShortNames[strings.ToLower(word)]; short {
		return kind
	}
	return word
}

// Plural returns the regular English plural of a kind, in lower case.
func Plural(kind string) string {
	word := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(word, "s"), strings.HasSuffix(word, "x"), strings.HasSuffix(word, "ch"), strings.HasSuffix(word, "sh"):
		return word + "es"
	case strings.HasSuffix(word, "y") && !strings.ContainsAny(word[max(0, len(word)-2):len(word)-1], "aeiou"):
		return word[:len(word)-1] + "ies"
	}
	return word + "s"
}
