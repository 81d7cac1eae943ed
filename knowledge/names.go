package knowledge

import (
	"slices"
	"strings"
	"sync"
)

// nameFile is names.yaml: names in environment variables and arguments.
type nameFile struct {
	Source string `yaml:"source"`
	// Addresses are endings of the last word in the name of a variable or flag that
	// contains an address.
	Addresses []string `yaml:"addresses"`
	// HostFlags are flags of one letter that contain an address.
	HostFlags []string `yaml:"hostFlags"`
	// ConnectionHosts are keywords of connection strings whose value is a server, and
	// ConnectionKeys are others.
	ConnectionHosts []string `yaml:"connectionHosts"`
	ConnectionKeys  []string `yaml:"connectionKeys"`
	// SANFlags are flags whose values are names for a certificate.
	SANFlags []string `yaml:"certified"`
	// SANFields are fields of custom resources with names for a certificate.
	SANFields []string `yaml:"certifiedFields"`
	// SANKeys are keys whose values are names for a certificate. Like RequestKeys, they
	// are in lower case, without "_" and "-".
	SANKeys []string `yaml:"certifiedKeys"`
	// SANPrefixes are texts directly before a name for a certificate, such as "DNS:".
	SANPrefixes []string `yaml:"certifiedPrefixes"`
	// RequestKeys are like SANKeys, but count only in a certificate request.
	RequestKeys []string `yaml:"requestKeys"`
	// RequestMarks are parts of a text that show that it is a certificate request.
	RequestMarks []string `yaml:"requestMarks"`
	// Contents are fields of custom resources with content of an object that the
	// resource creates.
	Contents []string `yaml:"contents"`
	// Settings are fields of custom resources that configure a program.
	Settings []string `yaml:"settings"`
	// Waits describes scripts that wait for other objects.
	Waits struct {
		// Loops are words that begin a loop, and Ends words that end one.
		Loops []string `yaml:"loops"`
		// Tries are Loops that always retry. The others retry only if they contain
		// Pause or negate a test.
		Tries []string `yaml:"tries"`
		Pause string   `yaml:"pause"`
		Ends  []string `yaml:"ends"`
		// Tools are programs, with required words, and images that wait.
		Tools []string `yaml:"tools"`
		// Tests are programs, with required words, that fail at once if the other
		// object does not respond.
		Tests  []string `yaml:"tests"`
		Source string   `yaml:"source"`
	} `yaml:"waits"`
	// ShortNames maps kubectl's short names to kinds.
	ShortNames map[string]string `yaml:"shortNames"`
	// Deployers are names of the ServiceAccount of Argo CD's application controller.
	Deployers []string `yaml:"deployers"`
	// Certifiers are words in command lines of programs that create certificates.
	Certifiers []string `yaml:"certifiers"`
	// Migrations are words that mark an object as a migration.
	Migrations []string `yaml:"migrations"`
	// Initiations are words of command lines that initialize a cluster of running
	// servers.
	Initiations []string `yaml:"initiations"`
}

var names = sync.OnceValue(func() *nameFile { return decoded[nameFile]("names.yaml") })

// Program is a program that does not become ready by itself.
type Program struct {
	// Image is the repository of its image, without the registry.
	Image string `yaml:"image"`
	// Unless lists arguments with which it becomes ready.
	Unless []string `yaml:"unless"`
	// UnlessProbed lists parts of a readiness probe that succeed anyway.
	UnlessProbed []string `yaml:"unlessProbed"`
	// Never says what it waits for.
	Never  string `yaml:"never"`
	Source string `yaml:"source"`
}

// Installer is a program that installs kinds at run time.
type Installer struct {
	// Images are the repositories of its images, without the registry.
	Images []string `yaml:"images"`
	// Installs are the groups of these kinds, as in Kind.
	Installs []string `yaml:"installs"`
	Source   string   `yaml:"source"`
	// Observed is the version that was observed on a real node, if any.
	Observed string `yaml:"observed"`
}

// InstallsGroup reports whether the program installs kinds of a group.
func (i Installer) InstallsGroup(group string) bool { return matches(i.Installs, group) }

// Discoverer is a program that discovers the kinds of the cluster once at startup.
type Discoverer struct {
	// Images are the repositories of its images, without the registry.
	Images []string `yaml:"images"`
	// EnabledBy is the flag or variable that enables the discovery.
	EnabledBy string `yaml:"told"`
	// Seeks are the groups of these kinds.
	Seeks []string `yaml:"seeks"`
	// Why is the verb of a sentence: program, why, CRD.
	Why    string `yaml:"why"`
	Source string `yaml:"source"`
}

// IsEnabledBy reports whether a flag or variable enables the discovery.
func (p Discoverer) IsEnabledBy(name, value string) bool {
	return strings.TrimLeft(name, "-") == p.EnabledBy && value == "true" || strings.TrimLeft(value, "-") == p.EnabledBy
}

type programFile struct {
	Programs    []Program    `yaml:"programs"`
	Installers  []Installer  `yaml:"installers"`
	Discoverers []Discoverer `yaml:"probers"`
}

var programs = sync.OnceValue(func() *programFile { return decoded[programFile]("programs.yaml") })

// IsAddress reports whether a variable or flag of that name contains an address, so
// that a bare word in it may be the name of a Service.
func (b *Base) IsAddress(name string) bool {
	if slices.Contains(names().HostFlags, name) {
		return true
	}
	words := nameWords(name)
	return len(words) > 0 && slices.ContainsFunc(names().Addresses, func(end string) bool { return strings.HasSuffix(words[len(words)-1], end) })
}

// IsAddressFlag is IsAddress for a word of a command line.
func (b *Base) IsAddressFlag(word string) bool {
	return strings.HasPrefix(word, "-") && b.IsAddress(word)
}

// ConnectionHosts returns the keywords of connection strings whose value is a server.
func (b *Base) ConnectionHosts() []string { return names().ConnectionHosts }

// ConnectionKeys returns the other keywords of connection strings.
func (b *Base) ConnectionKeys() []string { return names().ConnectionKeys }

// IsSANFlag reports whether a flag contains names for a certificate (subject
// alternative names), which look like addresses but are not. args is the whole command line, because flags such as
// --host have this meaning only for programs that create certificates.
func (b *Base) IsSANFlag(flag string, args []string) bool {
	flag = strings.ToLower(strings.TrimLeft(flag, "-"))
	if !slices.Contains(names().SANFlags, flag) {
		return false
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		return slices.Contains(names().Certifiers, arg[strings.LastIndexByte(arg, '/')+1:])
	})
}

// IsSANField reports whether a field of a custom resource contains names for a
// certificate, or names to announce.
func (b *Base) IsSANField(key string) bool {
	return slices.Contains(names().SANFields, key)
}

// IsSANKey reports whether the value of a key, variable or flag is a name for a
// certificate. Some keys count only in a certificate request.
func (b *Base) IsSANKey(key string, request bool) bool {
	if request && slices.Contains(names().RequestKeys, strings.ToLower(key)) {
		return true
	}
	words := nameWords(key)
	if n := len(words); n > 1 && strings.Trim(words[n-1], "0123456789") == "" {
		words = words[:n-1] // DNS.1
	}
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return slices.Contains(names().SANKeys, last) && (last != "dns" || len(words) == 1) ||
		len(words) > 1 && slices.Contains(names().SANKeys, words[len(words)-2]+last)
}

// IsCertificateRequest reports whether a text contains the configuration of a
// program that creates certificates.
func (b *Base) IsCertificateRequest(text string) bool {
	return slices.ContainsFunc(names().RequestMarks, func(mark string) bool { return strings.Contains(text, mark) })
}

// IsSANPrefix reports whether a text ends with a prefix of a name for a certificate,
// or of a wildcard name.
func (b *Base) IsSANPrefix(before string) bool {
	return slices.ContainsFunc(names().SANPrefixes, func(prefix string) bool { return strings.HasSuffix(before, prefix) })
}

// IsContent reports whether a field of a custom resource is content of an object
// that the resource creates.
func (b *Base) IsContent(field string) bool { return isBelow(field, names().Contents) }

// IsSetting reports whether a field of a custom resource configures its program.
func (b *Base) IsSetting(field string) bool { return isBelow(field, names().Settings) }

// isBelow reports whether a field is one of a list, or below one.
func isBelow(field string, some []string) bool {
	return slices.ContainsFunc(some, func(at string) bool {
		rest, ok := strings.CutPrefix(field, at)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

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

// InitializesCluster reports whether a command line or script initializes a cluster of
// servers that must already be running.
func (b *Base) InitializesCluster(command string) bool {
	command = strings.Join(strings.Fields(strings.ReplaceAll(command, "\\\n", " ")), " ")
	return slices.ContainsFunc(names().Initiations, func(words string) bool { return ContainsWord(command, words, isCommandByte) })
}

// isCommandByte reports whether a character is part of a word of a command line, such as
// of a path or of the name of a file.
func isCommandByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_./:=", c) >= 0
}

// ContainsWord reports whether a text contains a word, or several, that is not part of a
// longer one; inWord reports which characters words consist of.
func ContainsWord(text, word string, inWord func(byte) bool) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(word)
		if (from == 0 || !inWord(text[from-1])) && (to == len(text) || !inWord(text[to])) {
			return true
		}
		at = to
	}
}

// IsDeployer reports whether a ServiceAccount has the name of the ServiceAccount of
// Argo CD's application controller, which applies the component.
func (b *Base) IsDeployer(name string) bool {
	return slices.ContainsFunc(names().Deployers, func(end string) bool { return name == end || strings.HasSuffix(name, "-"+end) })
}

// NamesSource is the source of the naming conventions.
func (b *Base) NamesSource() string { return names().Source }

// Program returns the record of the program in an image, if none of its arguments
// makes it ready by itself.
func (b *Base) Program(image string, args []string, probe string) (Program, bool) {
	image = Repository(image)
	for _, p := range programs().Programs {
		if isImage(image, p.Image) {
			if slices.ContainsFunc(p.Unless, func(arg string) bool {
				return slices.ContainsFunc(args, func(given string) bool { return slices.Contains(strings.Fields(given), arg) })
			}) || slices.ContainsFunc(p.UnlessProbed, func(part string) bool { return strings.Contains(probe, part) }) {
				return Program{}, false
			}
			return p, true
		}
	}
	return Program{}, false
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
