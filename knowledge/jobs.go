package knowledge

import (
	"path"
	"slices"
	"strings"
)

// What Jobs are for, by their names and command lines.

// Migration returns the word that marks an object as a migration; empty if there is
// none. values are its name and label values.
func (b *Base) Migration(values ...string) string {
	for _, name := range values {
		for _, word := range nameWords(name) {
			if slices.Contains(names().Migrations, word) || slices.Contains(b.migrations, word) {
				return word
			}
		}
	}
	return ""
}

// MakesDatabase returns the words by which the name of a Job says that it makes a database with
// its schema; empty if there are none.
func (b *Base) MakesDatabase(name string) string {
	words := nameWords(name)
	if i := slices.IndexFunc(names().DatabaseMakers, func(some string) bool { return inOrder(words, strings.Fields(some)) }); i >= 0 {
		return names().DatabaseMakers[i]
	}
	return ""
}

// MayMigrate reports whether a Job of that name may be a migration.
func (b *Base) MayMigrate(name string) bool {
	return slices.ContainsFunc(nameWords(name), func(word string) bool { return slices.Contains(names().Upgrades, word) })
}

// SaysWait reports whether the name of a container says that it waits for something or
// checks it, such as wait-for-migrations.
func (b *Base) SaysWait(name string) bool {
	return slices.ContainsFunc(nameWords(name), func(word string) bool { return slices.Contains(names().Waiting, word) })
}

// MigratesBy returns the words that mark one of some commands as a migration; empty if there
// are none. Each command is a list of its words.
func (b *Base) MigratesBy(commands [][]string) string {
	m := names().MigrationCommands
	for _, command := range commands {
		begin := slices.IndexFunc(command, func(word string) bool { return word[0] != '-' && !slices.Contains(m.Runners, word) })
		isOther := func(other string) bool {
			words := strings.Fields(other)
			return startsWith(command, words) || startsWith(command[begin:], words)
		}
		if begin < 0 || slices.ContainsFunc(m.Others, isOther) ||
			slices.ContainsFunc(command, func(word string) bool { return slices.Contains(m.Looks, word) }) {
			continue
		}
		for _, words := range m.Words {
			if inOrder(command, strings.Fields(words)) {
				return words
			}
		}
	}
	return ""
}

// IsMode reports whether the value of an option or a variable of that name says what a program
// does.
func (b *Base) IsMode(name string) bool {
	words := nameWords(name)
	return len(words) > 0 && slices.Contains(names().Modes, words[len(words)-1])
}

// AppliesManifests reports whether a command, as a list of its words, writes the objects of
// manifests, and whether it fails unless they exist.
func (b *Base) AppliesManifests(command []string) (applies, replaces bool) {
	is := func(all []string) bool {
		return slices.ContainsFunc(all, func(words string) bool { return inOrder(command, strings.Fields(words)) })
	}
	return is(programs().Appliers.Commands), is(programs().Appliers.Replaces)
}

// CreatesData reports whether a name, or a script as words separated by blanks, says that a
// Job creates what others then use.
func (b *Base) CreatesData(texts ...string) bool {
	return sayAny(texts, names().Creations) || b.CreatesDatabase(texts...)
}

// CreatesDatabase reports the same of a database.
func (b *Base) CreatesDatabase(texts ...string) bool { return sayAny(texts, names().DatabaseCreations) }

// LoadsData reports whether the name of a Job, or a command as words separated by blanks, says that
// it loads data, and creates nothing for it, or that it uses tables.
func (b *Base) LoadsData(name string, commands ...string) bool {
	loads := names().Loads
	saysLoad := sayAny([]string{name}, loads.Names) || sayAny(commands, loads.Commands)
	return sayAny(commands, loads.Tables) || saysLoad && !b.CreatesDatabase(append(commands, name)...) &&
		!slices.ContainsFunc(commands, func(command string) bool { return strings.Contains(command, "create ") })
}

// sayAny reports whether one of some texts contains one of some words.
func sayAny(texts, all []string) bool {
	isLetter := func(c byte) bool { return c >= 'a' && c <= 'z' }
	return slices.ContainsFunc(texts, func(text string) bool {
		return slices.ContainsFunc(all, func(words string) bool { return ContainsWord(text, words, isLetter) })
	})
}

// Looks reports whether a command only looks at something.
func (b *Base) Looks(command []string) bool {
	return slices.ContainsFunc(command, func(word string) bool { return slices.Contains(names().MigrationCommands.Looks, word) })
}

// MayRunAgain reports whether the program of an image changes nothing if it runs again.
func (b *Base) MayRunAgain(image string) bool {
	return slices.ContainsFunc(names().Once.Images, func(name string) bool { return strings.Contains(image, name) })
}

// HarmfulAgain returns the words by which a command of a script says that it must not run
// again; empty if there are none, or if the script makes sure that it may.
func (b *Base) HarmfulAgain(script string, commands [][]string) string {
	once := names().Once
	if slices.ContainsFunc(once.Unless, func(mark string) bool { return strings.Contains(strings.ToLower(script), mark) }) {
		return ""
	}
	for _, command := range commands {
		if slices.ContainsFunc(command, func(word string) bool { return slices.Contains(once.Others, word) }) {
			continue
		}
		for _, words := range once.Words {
			if inOrder(command, strings.Fields(words)) {
				return words
			}
		}
	}
	return b.loadsFile(script)
}

// loadsFile returns the program of a script that runs a file of commands in a store, with the
// sign of the shell before the file; empty if there is none.
func (b *Base) loadsFile(script string) string {
	for _, line := range strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune("\n;&|()`", r) }) {
		before, file, redirects := strings.Cut(line, "<")
		if !redirects || strings.HasPrefix(file, "<") {
			continue
		}
		for _, client := range names().Once.Clients {
			if ContainsWord(before, client, isCommandByte) {
				return client + " <"
			}
		}
	}
	return ""
}

// startsWith reports whether a list starts with some words.
func startsWith(list, words []string) bool {
	return len(words) <= len(list) && slices.Equal(list[:len(words)], words)
}

// inOrder reports whether a list contains some words, in their order.
func inOrder(list, words []string) bool {
	for _, word := range list {
		if len(words) > 0 && word == words[0] {
			words = words[1:]
		}
	}
	return len(words) == 0
}

// RunsProgram reports whether a word of a command line precedes a program, such as npx or
// exec.
func (b *Base) RunsProgram(word string) bool {
	return slices.Contains(names().MigrationCommands.Runners, word)
}

// IsProgramFile reports whether a file is a program or script.
func (b *Base) IsProgramFile(name string) bool {
	return slices.Contains(names().MigrationCommands.Files, path.Ext(name))
}

// Validates reports whether a name says that an object validates a configuration.
func (b *Base) Validates(name string) bool { return hasAnyOf(name, names().Validations) }

// IsGuard reports whether a name says that an object comes before a migration.
func (b *Base) IsGuard(name string) bool { return hasAnyOf(name, names().Guards.Words) }

// MayGuard reports whether a name says that an object may come before a migration.
func (b *Base) MayGuard(name string) bool {
	return hasAnyOf(name, names().Guards.Words) || hasAnyOf(name, names().Guards.Weak) || hasAnyOf(name, b.smokes().Checks)
}

// hasAnyOf reports whether a name contains some words in their order.
func hasAnyOf(name string, any []string) bool {
	words := nameWords(name)
	return slices.ContainsFunc(any, func(some string) bool { return inOrder(words, strings.Fields(some)) })
}

// InitializesCluster reports whether a command line or script initializes a cluster of
// servers that must already be running.
func (b *Base) InitializesCluster(command string) bool {
	return saysOneOf(command, names().Initiations) != ""
}

// Risk returns the words by which a command line or script stops, keeps or removes what is
// there; empty if there are none.
func (b *Base) Risk(command string) string {
	return saysOneOf(strings.ToLower(command), names().Risks)
}

// RunsInPods reports whether a command line or script runs something in another Pod.
func (b *Base) RunsInPods(command string) bool { return saysOneOf(command, names().InPods) != "" }

// saysOneOf returns the first of some words that a command line or script contains.
func saysOneOf(command string, any []string) string {
	command = strings.Join(strings.Fields(strings.ReplaceAll(command, "\\\n", " ")), " ")
	if i := slices.IndexFunc(any, func(words string) bool { return ContainsWord(command, words, isCommandByte) }); i >= 0 {
		return any[i]
	}
	return ""
}

// isCommandByte reports whether a character is part of a word of a command line, such as
// of a path or of the name of a file.
func isCommandByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_./:=", c) >= 0
}
