package knowledge

import (
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
)

// nameFile is names.yaml: names in environment variables and arguments.
type nameFile struct {
	Source string `yaml:"source"`
	// Addresses are endings of the last word in the name of a variable or flag that
	// contains an address.
	Addresses []string `yaml:"addresses"`
	// HostFlags are flags of one letter that contain an address.
	HostFlags []string `yaml:"hostFlags"`
	// Registered are words in the names of variables, flags and keys whose value is an
	// address that the program does not call.
	Registered []string `yaml:"registered"`
	// Own are words that, alone, say that an address is the program's own.
	Own []string `yaml:"own"`
	// SchemesWithoutServer are schemes of URLs whose first part is not a server.
	SchemesWithoutServer []string `yaml:"schemesWithoutServer"`
	// Databases says how texts name databases on a server.
	Databases struct {
		// Schemes are those of their URLs.
		Schemes []string `yaml:"schemes"`
		// Names are ends of variables whose value is the name of a database.
		Names []string `yaml:"names"`
		// Users are ends of variables whose value is a user of a database.
		Users []string `yaml:"users"`
		// Administrative are databases in which the others are created.
		Administrative []string `yaml:"administrative"`
	} `yaml:"databases"`
	// Images are endings of the last word in the name of a variable or flag whose value is
	// an image.
	Images []string `yaml:"images"`
	// Owners are commands and flags before the owner of a file.
	Owners []string `yaml:"owners"`
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
	// ShortNames maps kubectl's short names to kinds.
	ShortNames map[string]string `yaml:"shortNames"`
	// Deployers are names of the ServiceAccount of Argo CD's application controller.
	Deployers []string `yaml:"deployers"`
	// Certifiers are words in command lines of programs that create certificates.
	Certifiers []string `yaml:"certifiers"`
	// Migrations are words that mark an object as a migration.
	Migrations []string `yaml:"migrations"`
	// DatabaseMakers are words of Jobs that make a database with its schema.
	DatabaseMakers []string `yaml:"databaseMakers"`
	// Upgrades are words of Jobs that may be migrations.
	Upgrades []string `yaml:"upgrades"`
	// Waiting are words of containers that only wait for something, or check it.
	Waiting []string `yaml:"waiting"`
	// Creations are words of Jobs that create what others then use.
	Creations []string `yaml:"creations"`
	// DatabaseCreations are such words of Jobs that create a database.
	DatabaseCreations []string `yaml:"databaseCreations"`
	// Loads are words of Jobs that load data into what a migration made.
	Loads struct {
		Names    []string `yaml:"names"`
		Commands []string `yaml:"commands"`
		Tables   []string `yaml:"tables"`
	} `yaml:"loads"`
	// MigrationCommands recognizes the commands of migrations.
	MigrationCommands struct {
		// Words are words of such a command, in their order.
		Words []string `yaml:"words"`
		// Looks are words of commands that only look, or are about something else.
		Looks []string `yaml:"looks"`
		// Others are beginnings of commands whose words name files, objects or queues.
		Others []string `yaml:"others"`
		// Runners are words before the program.
		Runners []string `yaml:"runners"`
		// Files are the extensions of programs.
		Files []string `yaml:"files"`
	} `yaml:"migrationCommands"`
	// Modes are the last words of options and variables that say what a program does.
	Modes []string `yaml:"modes"`
	// Once recognizes commands that must not run again.
	Once struct {
		// Words are words of such a command, in their order.
		Words []string `yaml:"words"`
		// Others are words of commands with other meanings of these words.
		Others []string `yaml:"others"`
		// Clients are programs that run a file of commands in a store.
		Clients []string `yaml:"clients"`
		// Images are parts of the names of images whose commands change nothing then.
		Images []string `yaml:"images"`
		// Unless are parts of scripts that look before they run such a command.
		Unless []string `yaml:"unless"`
	} `yaml:"once"`
	// Risks are words of command lines that stop, keep or remove what is there, InPods those of
	// commands in other Pods, and Signals those that end others.
	Risks   []string `yaml:"risks"`
	InPods  []string `yaml:"inPods"`
	Signals []string `yaml:"signals"`
	// Validations are words in names of Jobs that validate a configuration.
	Validations []string `yaml:"validations"`
	// Guards are words in names of objects that come before a migration, or may with those
	// of Weak.
	Guards struct {
		Words []string `yaml:"words"`
		Weak  []string `yaml:"weak"`
	} `yaml:"guards"`
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

// Initialization is a command without which servers are not ready.
type Initialization struct {
	// Image is the repository of the image of the servers, without the registry.
	Image string `yaml:"image"`
	// Unless lists arguments with which they become ready without it.
	Unless []string `yaml:"unless"`
	// Probed is the part of a readiness probe that fails before it.
	Probed string `yaml:"probed"`
	// Command is the program without its directory, and its first argument.
	Command string `yaml:"command"`
	Source  string `yaml:"source"`
}

// IsRunIn reports whether a command line or script contains the command.
func (i Initialization) IsRunIn(script string) bool { return runs(script, i.Command) }

// Writer is a command that creates a Secret.
type Writer struct {
	// Command is the program without its directory, and its first arguments.
	Command string `yaml:"command"`
	// Secret is the name of the Secret, in the namespace of the Pod.
	Secret string `yaml:"secret"`
	Source string `yaml:"source"`
}

// TrustWriter is a program that writes the CA of a webhook configuration or an APIService.
type TrustWriter struct {
	// Image is the repository of its image, without the registry.
	Image string `yaml:"image"`
	// Command is the argument with which it does so.
	Command string `yaml:"command"`
	// Targets are the flags, without dashes, that name the object.
	Targets []string `yaml:"targets"`
	Source  string   `yaml:"source"`
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
	Programs        []Program        `yaml:"programs"`
	Initializations []Initialization `yaml:"initialized"`
	Installers      []Installer      `yaml:"installers"`
	Discoverers     []Discoverer     `yaml:"probers"`
	// Injections say how Pods ask a mutating webhook for a change.
	Injections struct {
		// Word is a word of keys that ask unless their value is one of Off; other keys ask with a
		// value of On.
		Word string   `yaml:"word"`
		On   []string `yaml:"on"`
		Off  []string `yaml:"off"`
		// Placeholders are images that only the webhook makes an image of.
		Placeholders []string `yaml:"placeholders"`
		Source       string   `yaml:"source"`
	} `yaml:"injections"`
	// Waiters wait until something responds, and Testers fail at once if it does not.
	Waiters      []Waiter      `yaml:"waiters"`
	Testers      []Waiter      `yaml:"testers"`
	Writers      []Writer      `yaml:"writers"`
	Endless      []Endless     `yaml:"endless"`
	TrustWriters []TrustWriter `yaml:"trustWriters"`
	// SecretWords are words of variables and flags whose value is the name of a Secret.
	SecretWords []string `yaml:"secretWords"`
	// Appliers are commands that write the objects of manifests.
	Appliers struct {
		Commands []string `yaml:"commands"`
		// Replaces are those that fail unless the objects exist.
		Replaces []string `yaml:"replaces"`
		Source   string   `yaml:"source"`
	} `yaml:"appliers"`
	// Interpreters are the first words of images in which any program runs.
	Interpreters []string `yaml:"interpreters"`
	// Scaffolds are Services, as namespace/name, that exist only in scaffolds.
	Scaffolds []string `yaml:"scaffolds"`
	// Stores recognizes programs that keep data or messages for others, by their images.
	Stores struct {
		// Words are words of their images, and Tools those of images of tools for them.
		Words []string `yaml:"words"`
		Tools []string `yaml:"tools"`
		// Names are other words for them in the names of settings.
		Names []string `yaml:"names"`
		// Copies are words of kinds that are about copies of their data.
		Copies []string `yaml:"copies"`
		// Ports are ports at which they usually listen.
		Ports []string `yaml:"ports"`
		// Clients are programs that send their arguments and their input to a store.
		Clients []string `yaml:"clients"`
		Source  string   `yaml:"source"`
	} `yaml:"stores"`
}

var programs = sync.OnceValue(func() *programFile { return decoded[programFile]("programs.yaml") })

// AsksForInjection reports whether a label or annotation asks a mutating webhook to change a Pod,
// or not to.
func (b *Base) AsksForInjection(name, value string) (asks, refuses bool) {
	in := programs().Injections
	isOff := slices.Contains(in.Off, value)
	hasWord := slices.Contains(nameWords(name), in.Word)
	return !isOff && hasWord || slices.Contains(in.On, value), isOff && hasWord
}

// IsPlaceholder reports whether an image runs only after a mutating webhook has replaced it.
func (b *Base) IsPlaceholder(image string) bool {
	return slices.Contains(programs().Injections.Placeholders, image)
}

// IsScaffold reports whether a Service exists only in the scaffold of an operator.
func (b *Base) IsScaffold(service object.ID) bool {
	return slices.Contains(programs().Scaffolds, service.Namespace+"/"+service.Name)
}

// IsAddress reports whether a variable or flag of that name contains an address, so
// that a bare word in it may be the name of a Service.
func (b *Base) IsAddress(name string) bool {
	if slices.Contains(names().HostFlags, name) {
		return true
	}
	words := nameWords(name)
	return len(words) > 0 && slices.ContainsFunc(names().Addresses, func(end string) bool {
		return strings.HasSuffix(words[len(words)-1], end)
	})
}

// IsAddressFlag is IsAddress for a word of a command line.
func (b *Base) IsAddressFlag(word string) bool {
	return strings.HasPrefix(word, "-") && b.IsAddress(word)
}

// NamesServers reports whether the first part of a URL with a scheme is a server. It takes
// the last part of a compound scheme, in lower case.
func (b *Base) NamesServers(scheme string) bool {
	return !slices.Contains(names().SchemesWithoutServer, scheme)
}

// IsDatabaseScheme reports whether URLs with a scheme lead to databases.
func (b *Base) IsDatabaseScheme(scheme string) bool {
	return slices.Contains(names().Databases.Schemes, scheme)
}

// NamesDatabase reports whether a variable or flag of that name contains the name of a
// database, such as DB_NAME or MYSQL_DATABASE.
func (b *Base) NamesDatabase(name string) bool {
	words := nameWords(name)
	if len(words) > 1 && words[len(words)-1] == "name" {
		words = words[:len(words)-1]
	}
	return len(words) > 0 && slices.Contains(names().Databases.Names, words[len(words)-1])
}

// NamesNoObject reports whether the value of a variable or flag of that name is called like
// an object at most by chance: a database, or its user.
func (b *Base) NamesNoObject(name string) bool { return b.NamesDatabase(name) || b.NamesUser(name) }

// NamesUser reports whether the value of a variable or flag of that name is the user of a
// database.
func (b *Base) NamesUser(name string) bool {
	words := nameWords(name)
	return len(words) > 0 && slices.Contains(names().Databases.Users, words[len(words)-1])
}

// IsAdministrative reports whether a database is one in which others are created.
func (b *Base) IsAdministrative(database string) bool {
	return slices.Contains(names().Databases.Administrative, database)
}

// IsRegistered reports whether a variable, flag or key of that name contains an address
// that the program hands on to others, and does not call. SITE_URL does, and
// SITE_DATABASE_URL does not.
func (b *Base) IsRegistered(name string) bool {
	isRegistered := func(word string) bool { return slices.Contains(names().Registered, word) }
	words := nameWords(humps.ReplaceAllString(name, between))
	for len(words) > 0 && !isRegistered(words[len(words)-1]) && slices.Contains(names().Addresses, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return len(words) > 0 && (isRegistered(words[len(words)-1]) || len(words) == 1 && slices.Contains(names().Own, words[0]))
}

// between puts a dash into humps.
const between = "$1$3-$2$4"

// humps are the places between the words of a name in camel case, such as SQLInstance.
var humps = lazyregexp.New(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// NamesImage reports whether a variable or flag of that name contains an image.
func (b *Base) NamesImage(name string) bool {
	words := nameWords(name)
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(names().Images, word) })
}

// SetsOwner reports whether a word of a command line precedes the owner of a file.
func (b *Base) SetsOwner(word string) bool {
	return slices.Contains(names().Owners, word[strings.LastIndexByte(word, '/')+1:])
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

// ContainsWord reports whether a text contains a word, or several, that is not part of a
// longer one; inWord reports which characters words consist of.
func ContainsWord(text, word string, inWord func(byte) bool) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 || word == "" { // an empty word is in every text, at every place
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
