package knowledge

import (
	"slices"
	"strings"
)

// What programs do, by their images.

// Program returns the record of the program in an image, if none of its arguments
// makes it ready by itself.
func (b *Base) Program(image string, args []string, probe string) (Program, bool) {
	image = Repository(image)
	for _, p := range programs().Programs {
		if isImage(image, p.Image) {
			if containsWord(args, p.Unless) || slices.ContainsFunc(p.UnlessProbed, func(part string) bool { return strings.Contains(probe, part) }) {
				return Program{}, false
			}
			return p, true
		}
	}
	return Program{}, false
}

// containsWord reports whether one of the words is in a command line or its scripts.
func containsWord(args, words []string) bool {
	return slices.ContainsFunc(args, func(given string) bool {
		return slices.ContainsFunc(strings.Fields(given), func(word string) bool { return slices.Contains(words, word) })
	})
}

// Initialization returns the record of the command without which the servers in an image
// are not ready, by their arguments and the path of their readiness probe.
func (b *Base) Initialization(image string, args []string, probe string) (Initialization, bool) {
	i, ok := running(image, programs().Initializations, func(i Initialization) []string { return []string{i.Image} })
	return i, ok && strings.Contains(probe, i.Probed) && !containsWord(args, i.Unless)
}

// SecretsOf returns the names of the Secrets that known commands in scripts create.
func (b *Base) SecretsOf(scripts []string) (names []string) {
	for _, w := range programs().Writers {
		if slices.ContainsFunc(scripts, func(script string) bool { return runs(script, w.Command) }) {
			names = append(names, w.Secret)
		}
	}
	return names
}

// TrustWriter returns the record of the program in an image, if it writes CAs.
func (b *Base) TrustWriter(image string) (TrustWriter, bool) {
	return running(image, programs().TrustWriters, func(w TrustWriter) []string { return []string{w.Image} })
}

// NamesSecret reports whether a variable or flag says that its value is the name of a Secret.
func (b *Base) NamesSecret(name string) bool {
	return slices.ContainsFunc(nameWords(name), func(word string) bool { return slices.Contains(programs().SecretWords, word) })
}

// IsStore reports whether an image is that of a program that keeps data or messages for
// others, such as a database, and starts without them. It is certainly one if it is called
// after a known one in the end, as in bitnami/mysql.
func (b *Base) IsStore(image string) (is, certainly bool) {
	words := imageWords(image)
	if len(words) == 0 || b.IsStoreTool(image) {
		return false, false
	}
	return slices.ContainsFunc(words, isStoreWord), isStoreWord(words[len(words)-1])
}

func isStoreWord(word string) bool { return slices.Contains(programs().Stores.Words, word) }

// NamesStore reports whether a name contains the word of a store, such as POSTGRES_PASSWORD.
func (b *Base) NamesStore(name string) bool {
	return slices.ContainsFunc(nameWords(name), func(word string) bool {
		return isStoreWord(word) || slices.Contains(programs().Stores.Names, word)
	})
}

// IsStorePort reports whether programs that keep data usually listen at a port.
func (b *Base) IsStorePort(port string) bool { return slices.Contains(programs().Stores.Ports, port) }

// IsStoreClient reports whether a program sends its arguments and its input to a store.
func (b *Base) IsStoreClient(program string) bool {
	return slices.Contains(programs().Stores.Clients, program)
}

// IsStoreTool reports whether an image is that of a tool for such a program.
func (b *Base) IsStoreTool(image string) bool {
	return slices.ContainsFunc(imageWords(image), func(word string) bool { return slices.Contains(programs().Stores.Tools, word) })
}

// RunsAnyProgram reports whether an image is that of an interpreter or of tools: two workloads
// with it need not run one program.
func (b *Base) RunsAnyProgram(image string) bool {
	words := imageWords(image)
	return len(words) > 0 && slices.Contains(programs().Interpreters, words[0])
}

// imageWords returns the words of an image's name, without its registry and directories.
func imageWords(image string) []string {
	repository := Repository(image)
	return nameWords(repository[strings.LastIndexByte(repository, '/')+1:])
}

// IsStoreKind reports whether a custom kind, by its name and group, is that of a store
// which an operator runs.
func (b *Base) IsStoreKind(group, kind string) bool {
	const shortest = 5 // of a word that can be a part of another one
	stores := programs().Stores
	words := strings.Split(strings.ToLower(humps.ReplaceAllString(kind, between)), "-")
	if slices.ContainsFunc(words, func(word string) bool { return slices.Contains(stores.Tools, word) }) {
		return false
	}
	name := strings.ToLower(kind + "." + group)
	isStore := func(word string) bool {
		return slices.Contains(stores.Words, word) || slices.Contains(stores.Names, word)
	}
	return !b.Builtin(group) && (slices.ContainsFunc(words, isStore) ||
		slices.ContainsFunc(stores.Words, func(word string) bool { return len(word) >= shortest && strings.Contains(name, word) }))
}

// Copies reports whether a custom kind, by its name, is about copies of a store's data.
func (b *Base) Copies(kind string) bool {
	return slices.ContainsFunc(nameWords(humps.ReplaceAllString(kind, "$1-$2")),
		func(word string) bool { return slices.Contains(programs().Stores.Copies, word) })
}

// Installer returns the record of the program in an image, if it installs kinds.
func (b *Base) Installer(image string) (Installer, bool) {
	return running(image, programs().Installers, func(i Installer) []string { return i.Images })
}

// Discoverer returns the record of the program in an image, if it discovers kinds at
// startup.
func (b *Base) Discoverer(image string) (Discoverer, bool) {
	return running(image, programs().Discoverers, func(p Discoverer) []string { return p.Images })
}

// running returns the record of the program in an image.
func running[P any](image string, all []P, images func(P) []string) (found P, ok bool) {
	image = Repository(image)
	at := slices.IndexFunc(all, func(p P) bool {
		return slices.ContainsFunc(images(p), func(name string) bool { return isImage(image, name) })
	})
	if at < 0 {
		return found, false
	}
	return all[at], true
}

// isImage compares a repository with a name, regardless of the registry.
func isImage(repository, name string) bool {
	return repository == name || strings.HasSuffix(repository, "/"+name)
}

// SameRepository reports whether two images differ at most in tag, digest and registry.
func SameRepository(a, b string) bool {
	a, b = Repository(a), Repository(b)
	return isImage(a, b) || isImage(b, a)
}

// Repository returns an image without its tag and digest.
func Repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// nameWords splits a name into lower-case words.
func nameWords(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '.' || r == '_' || r == '/' })
}
