package text

import (
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Database is a store as a text names it.
type Database struct {
	// Hosts are its servers, without ports; empty in a text that names only the database.
	Hosts []string
	// Name is the database on the servers, in lower case; empty if the text does not say it.
	Name string
	// IsURL means that the text is complete: it says all that a client needs.
	IsURL bool
}

// Databases returns the databases in a text: those of URLs and of connection strings, and
// what a key such as DB_HOST or DB_NAME names alone.
func Databases(base *knowledge.Base, w Word) (all []Database) {
	for _, m := range storeURL.FindAllStringSubmatch(w.Value, -1) {
		if base.IsDatabaseScheme(strings.ToLower(m[1])) {
			all = append(all, database(m[2], m[3], true))
		}
	}
	for _, m := range driverAddress.FindAllStringSubmatch(w.Value, -1) {
		all = append(all, database(m[1], m[2], true))
	}
	switch isPlain := plainName.MatchString(w.Value); {
	case isPlain && base.NamesDatabase(w.Name):
		all = append(all, database("", w.Value, false))
	case isPlain && base.IsAddress(w.Name) && base.NamesStore(w.Name):
		all = append(all, database(w.Value, "", false))
	}
	for _, m := range hostKey.FindAllStringSubmatch(w.Value, -1) {
		all = append(all, database(m[1], "", false))
	}
	for _, m := range databaseKey.FindAllStringSubmatch(w.Value, -1) {
		all = append(all, database("", m[1], false))
	}
	return all
}

func database(servers, name string, isURL bool) Database {
	d := Database{Name: strings.ToLower(name), IsURL: isURL}
	for host := range strings.SplitSeq(servers, ",") {
		if host, _, _ = strings.Cut(host, ":"); host != "" {
			d.Hosts = append(d.Hosts, strings.ToLower(host))
		}
	}
	return d
}

var (
	// storeURL matches URLs; the scheme of "jdbc:postgresql://db:5432/shop" is postgresql, and
	// that of "mysql+pymysql://db/shop" is mysql.
	storeURL = lazyregexp.New(`([a-zA-Z][a-zA-Z0-9-]*)(?:\+\w+)?://(?:[^\s/"'?;@]*@)?([^\s/"'?;@$(){}]*)(?:/([\w-]+))?`)
	// driverAddress is the address in "user:password@tcp(db:3306)/shop"
	// (https://pkg.go.dev/github.com/go-sql-driver/mysql#readme-dsn-data-source-name).
	driverAddress = lazyregexp.New(`@tcp\(([^()\s]*)\)(?:/([\w-]+))?`)
	plainName     = lazyregexp.New(`^[\w.-]+$`)
	// hostKey matches settings of files whose value is a full name of a host.
	hostKey     = lazyregexp.New(`(?im)^[\s{"'\w.-]*(?:host|hostname|server|address)["']?\s*[:=]\s*["']?((?:[a-z0-9-]+\.){2,}[a-z]+)\b`)
	databaseKey = lazyregexp.New(`(?i)(?:^|[\s;,{"'?&.])(?:db_?name|database(?:_?name)?|initial catalog)["']?\s*[:=]\s*["']?([\w-]+)`)
)
