package text

import (
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
)

// addresses are variables with texts, and whether "shop" in them is an address.
var addresses = []struct {
	name, text string
	want       bool
}{
	{"", "http://shop:8080/", true},
	{"", "http://shop", true},
	{"", "jdbc:postgresql://shop:5432/db", true},
	{"", "mysql+pymysql://user:secret@shop/db", true},
	{"", "redis://:secret@shop:6379/0", true},
	{"", "amqp://shop-user:x@shop", true},
	{"", "postgres://shop:secret@db.other.svc:5432/db", false},
	{"", "postgres://shop@db/", false},
	{"", "mysql+pymysql://shop:1234@mariadb/db", false},
	{"", "user:secret@tcp(shop:3306)/db", true},
	{"", "shop:secret@tcp(db:3306)/db", false},
	{"", "s3://shop/backups", false},
	{"", "gs://shop", false},
	{"", "oci://shop/chart", false},
	{"", "oci://shop:5000/chart", true},
	{"", "git://shop/repo.git", true},
	{"", "amqp://user:c2VjcmV0MQ==@shop", true},
	{"", "vault://shop/db", false},
	{"", "spiffe://shop/ns/default", false},
	{"", "persistent://shop/orders/events", false},
	{"", "nc -z shop 5432", false}, // no port of a Service here
	{"", "shop:5432", true},
	{"", "nc shop:5432; exit", true},
	{"", "a:1,shop:9092", true},
	{"", "shop:1.0", false},
	{"", "shop:8-alpine", false},
	{"", "registry.example.com/acme/shop:1", false},
	{"", "https://example.com/shop:8", false},
	{"RELATED_IMAGE_SHOP", "shop:80", false},
	{"--image", "shop:80", false},
	{"", "chown shop:1000 /data", false},
	{"", "chown -R shop:1000 /data", false},
	{"", "install --owner=shop:1000 a b", false},
	{"ADMIN_EMAIL", "admin@shop", false},
	{"", "admin@shop:2525", true},
	{"", "pg_isready -h shop", true},
	{"", "host=shop port=5432", true},
	{"DB_HOST", "shop", true},
	{"BROKERS", "a,shop", true},
	{"APP_NAME", "shop", false},
	{"", "shop:123456", false},
	{"OAUTH_REDIRECT_URI", "http://shop:8080/callback", false},
	{"--base-url", "http://shop:8080/", false},
	{"APP_URL", "http://shop:8080/", false},
	{"API_BASE_URL", "http://shop:8080/", true},
	{"", `{"redirectUris": ["http://shop:4180/*"], "x": 1}`, false},
	{"", "{\"redirectUris\": [\n  \"http://localhost:3000/*\",\n  \"http://shop:8080/*\"]}", false},
	{"", "redirectUris:\n- http://localhost:3000/*\n- http://shop:8080/*\n", false},
	{"", "redirectUris: [\"http://x/*\"]\nurl: http://shop:8080", true},
	{"SITE_DATABASE_URL", "postgres://u:p@shop:5432/x", true},
	{"EXTERNAL_DB_HOST", "shop", true},
	{"SITE_URL", "http://shop:8080", false},
	{"", "webhook = http://shop:8080/events", false},
	{"--cors-origin", "http://shop:8080", false},
	{"", `{"issuer": "http://shop:8080", "redirectUris": []}`, true},
	{"", "see http://x, then shop:80.", true},
	{"", "postgres://a:5432,shop:5432/db", true},
	{"", "postgres://shop:5432,b:5432/db", true},
	{"", "postgres://a,shop/db", true},
	{"", "postgres://u:p@shop,b/db", true},
	{"", "postgresql://u:p@a:5432,b:5432/shop", false},
	{"", "postgresql://shop:p@a:5432,b:5432/db", false},
	{"", "mongodb://u:p@a:27017,shop:27017/x?replicaSet=rs", true},
	{"", "mongodb://shop:p@a,b/x", false},
	{"", "mongodb+srv://u:p@shop/x", true},
	{"", "mongodb+srv://shop:p@db/x", false},
	{"", "PLAINTEXT://a:9092,SASL_SSL://shop:9093", true},
	{"KAFKA_BOOTSTRAP_SERVERS", "a, shop", true},
	{"", "redis://a:6379,shop:6379", true},
	{"", "shop:6379,password=x,ssl=False", true},
	{"", "Server=tcp:shop,1433;Database=x", true},
	{"", "Data Source=shop,1433;Initial Catalog=x", true},
	{"", "Data Source=shop\\SQL2022;Initial Catalog=x", true},
	{"", "Server=db;Database=shop;User Id=x", false},
	{"", "Server=db;Database=x;User Id=shop;Password=shop", false},
	{"", "Host=a,shop;Username=x;Password=y", true},
	{"", "jdbc:sqlserver://shop:1433;databaseName=x", true},
	{"", "jdbc:sqlserver://db;databaseName=shop", false},
	{"", "jdbc:oracle:thin:@shop:1521:XE", true},
	{"", "jdbc:oracle:thin:@//shop:1521/x", true},
	{"", "jdbc:oracle:thin:u/p@shop:1521/x", true},
	{"", "jdbc:oracle:thin:shop/p@db:1521/x", false},
	{"", "jdbc:mysql:loadbalance://a,shop/db", true},
	{"", "jdbc:mysql://address=(host=shop)(port=3306)/db", true},
	{"", "jdbc:postgresql://a:5432,shop:5432/db", true},
	{"", "jdbc:postgresql://db/x?user=shop&password=shop", false},
	{"", "jdbc:h2:mem:shop", false},
	{"", "jdbc:sqlite:shop", false},
	{"", "amqp://u:p@shop/%2Fevents", true},
	{"", "amqps://u:p@mq:5671/shop", false},
	{"", "amqp://shop:p@mq/", false},
	{"", "u:p@tcp(shop)/db", true},
	{"", "u:p@(shop:3306)/db", true},
	{"", "u:p@unix(/run/my.sock)/shop", false},
	{"", "u:p@tcp(db:3306)/shop", false},
	{"", "shop:p@tcp(db)/x", false},
	{"", "arn:aws:s3:::shop", false},
	{"", "acme/shop@sha256:0123", false},
	{"", "s3://bucket/shop:80", false},
}

// TestIsAddress is the table of where the word "shop" in a text is an address, and where
// it is something else that looks like one.
func TestIsAddress(t *testing.T) {
	base := knowledge.Default()
	for _, tt := range addresses {
		w := Word{Name: tt.name, Value: tt.text}
		got := false
		for at, end := range Hosts(tt.text) {
			if strings.TrimRight(tt.text[at:end], ".") == "shop" {
				got = got || IsAddress(base, w, at, end, func(string, string) bool { return false })
			}
		}
		if got != tt.want {
			t.Errorf("%s %q: %v, want %v", tt.name, tt.text, got, tt.want)
		}
	}
}

// TestExpand is the table of what Kubernetes makes of variables
// (k8s.io/kubernetes third_party/forked/golang/expansion).
func TestExpand(t *testing.T) {
	vars := map[string]string{"A": "x", "B": "$(A)", "EMPTY": "", "LONG": strings.Repeat("y", longestWord)}
	for text, want := range map[string]string{
		"plain": "plain", "$(A)": "x", "-$(A)-$(A)": "-x-x", "$(B)": "$(A)", "$(NONE)": "$(NONE)", "$(EMPTY)": "",
		"$$(A)": "$(A)", "$$$(A)": "$x", "$A": "$A", "$(A": "$(A", "$": "$", "$(A)$": "x$", "$(LONG)$(A)": "", "$(N(A)": "$(N(A)",
	} {
		if got := Expand(text, vars); got != want {
			t.Errorf("%s = %.40s, want %s", text, got, want)
		}
	}
}
