package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
)

// addressForms are texts with one host, in which a user, a password, a database and others
// may be called like Services, too.
var addressForms = []string{
	"postgres://USER:PASSWORD@HOST:PORT/DATABASE",
	"postgresql+asyncpg://USER:PASSWORD@HOST/DATABASE?ssl=true",
	"mysql+pymysql://USER@HOST/DATABASE",
	"mongodb+srv://USER:PASSWORD@HOST/DATABASE?retryWrites=true",
	"mongodb://USER:PASSWORD@10.0.0.1:PORT,HOST:PORT/DATABASE?replicaSet=USER",
	"postgres://USER:PASSWORD@10.0.0.1,HOST/DATABASE",
	"amqp://USER:PASSWORD@HOST:PORT/DATABASE",
	"amqps://USER:PASSWORD@HOST/%2FDATABASE",
	"redis://:PASSWORD@HOST:PORT/0",
	"PLAINTEXT://10.0.0.1:PORT,SASL_SSL://HOST:PORT",
	"USER:PASSWORD@tcp(HOST:PORT)/DATABASE?parseTime=true",
	"USER:PASSWORD@tcp(HOST)/DATABASE",
	"host=HOST port=PORT user=USER password=PASSWORD dbname=DATABASE",
	"Server=HOST,PORT;Database=DATABASE;User Id=USER;Password=PASSWORD",
	"Server=tcp:HOST,PORT;Initial Catalog=DATABASE;User ID=USER;Password=PASSWORD;Encrypt=True",
	"Host=HOST;Port=PORT;Username=USER;Password=PASSWORD;Database=DATABASE",
	"jdbc:postgresql://HOST:PORT/DATABASE?user=USER&password=PASSWORD",
	"jdbc:sqlserver://HOST:PORT;databaseName=DATABASE;user=USER;password=PASSWORD",
	"jdbc:oracle:thin:USER/PASSWORD@HOST:PORT/DATABASE",
	"jdbc:oracle:thin:@//HOST:PORT/DATABASE",
	"HOST:PORT,password=PASSWORD,ssl=False",
	"http://HOST:PORT/USER/DATABASE",
	"https://USER:PASSWORD@HOST/DATABASE",
	"pg_isready -h HOST -U USER -d DATABASE",
	"mysqladmin ping --host=HOST --user=USER --password=PASSWORD",
	"s3://USER/DATABASE",
	"gs://DATABASE/USER",
	"oci://USER/DATABASE",
	"vault://USER/DATABASE",
	"spiffe://USER/ns/DATABASE",
	"persistent://USER/DATABASE/PASSWORD",
	"arn:aws:s3:::USER/DATABASE",
	"registry.example.com/USER/DATABASE:PORT",
	"USER:v1.2.3",
	"USER:1.2-alpine",
	"USER/DATABASE@sha256:0123456789abcdef",
	"chown -R USER:PORT /data",
	"USER@DATABASE",
	"/srv/USER/DATABASE:/data",
}

// addressFrames are texts around one.
var addressFrames = []string{"%s", "url: %s\n", "key: \"%s\"\nother: 1\n", "{\"url\": \"%s\", \"x\": 1}\n",
	"export DSN='%s'\n", "# see\nDSN=%s\n"}

// FuzzIsAddress holds of all names: the host of a text is an address, and nothing else is,
// whatever users, passwords, databases, buckets and images are called.
func FuzzIsAddress(f *testing.F) {
	for form := range addressForms {
		f.Add("shop", "shop", "Shop1", "shop", uint16(5432), uint(form), uint(form))
		f.Add("db.data.svc", "app", "x-9", "db", uint16(80), uint(form), uint(form+1))
	}
	base := knowledge.Default()
	f.Fuzz(func(t *testing.T, host, user, password, database string, port uint16, form, frame uint) {
		if port == 0 || !isName(host) || !isName(user) || !isName(database) || !isPassword(password) {
			return
		}
		text := fmt.Sprintf(addressFrames[frame%uint(len(addressFrames))], addressForms[form%uint(len(addressForms))])
		text = strings.NewReplacer("USER", user, "PASSWORD", password, "DATABASE", database, "PORT", fmt.Sprint(port)).Replace(text)
		before, after, hasHost := strings.Cut(text, "HOST")
		w := Word{Value: text, IsFile: frame%2 == 0}
		if hasHost {
			w.Value = before + host + after
		}
		found := false
		for at, end := range Hosts(w.Value) {
			isHost := hasHost && at == len(before) && w.Value[at:end] == host
			got := IsAddress(base, w, at, end, func(string, string) bool { return false })
			isNumber := strings.Trim(w.Value[at:end], "0123456789.") == ""
			if found = found || isHost && got; got && !isHost && !isNumber {
				t.Errorf("%q: %q is not a host", w.Value, w.Value[at:end])
			}
		}
		if hasHost && !found {
			t.Errorf("%q: the host %q is not found", w.Value, host)
		}
	})
}

// isName reports whether a word may be the name of a Service, with or without a namespace.
func isName(word string) bool {
	return len(word) < 64 && !slices.ContainsFunc(strings.Split(word, "."), func(part string) bool {
		return part == "" || part[0] < 'a' || part[0] > 'z' || strings.HasSuffix(part, "-") ||
			strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-") != ""
	})
}

// isPassword reports whether a word means the same in all forms.
func isPassword(word string) bool {
	return word != "" && len(word) < 64 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~%") == ""
}
