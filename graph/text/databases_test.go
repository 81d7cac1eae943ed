package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
)

func TestDatabases(t *testing.T) {
	base := knowledge.Default()
	for _, c := range []struct{ name, text, want string }{
		{"", "postgres://user:secret@db:5432/Shop?sslmode=disable", "db/shop"},
		{"", "jdbc:postgresql://db/shop", "db/shop"},
		{"", "mysql+pymysql://u:p@db.data.svc/shop", "db.data.svc/shop"},
		{"", "mongodb://u:p@a:1,b:2/shop?replicaSet=rs0", "a,b/shop"},
		{"", "user:secret@tcp(db:3306)/shop?parseTime=true", "db/shop"},
		{"", "jdbc:sqlserver://db:1433;databaseName=shop;encrypt=true", "db/ /shop"},
		{"", "host=db port=5432 dbname=shop", "/shop"},
		{"", "Server=db;Database=shop;User Id=x", "/shop"},
		{"", "db:\n  host: x\n  database: shop\n", "/shop"},
		{"", "{\"dbName\": \"shop\"}", "/shop"},
		{"", "postgres://db", "db/"},
		{"", "postgres://shop:$(PASSWORD)@db/shop", "db/shop"},
		{"DB_NAME", "shop", "/shop"},
		{"MYSQL_DATABASE", "shop", "/shop"},
		{"POSTGRES_DB", "shop", "/shop"},
		{"PGDATABASE", "shop", "/shop"},
		{"DB_HOST", "db.example.com", "db.example.com/"},
		{"POSTGRES_DB", "postgres://db/shop", "db/shop"},
		{"", "[db]\napp.mongo.host = db.data.example.com\nport = 1", "db.data.example.com/"},
		{"", "host: db\n", ""},
		{"APP_NAME", "shop", ""},
		{"API_HOST", "api", ""},
		{"", "http://api:8080/shop", ""},
		{"", "redis://cache:6379/0", ""}, // whoever uses a cache may use all of it
		{"", "s3://shop/backups", ""},
		{"", "database: {host: db}", ""},
	} {
		var all []string
		for _, d := range Databases(base, Word{Name: c.name, Value: c.text}) {
			all = append(all, fmt.Sprintf("%s/%s", strings.Join(d.Hosts, ","), d.Name))
		}
		if got := strings.Join(all, " "); got != c.want {
			t.Errorf("Databases(%q, %q) = %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

func TestCreates(t *testing.T) {
	for _, c := range []struct {
		script string
		want   bool
	}{
		{"kubectl create secret generic a --from-literal=b=c", true},
		{"oc -n shop create \\\n  secret generic a", true},
		{"cat <<EOF | kubectl apply -f -\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nEOF", true},
		{`echo '{"apiVersion": "v1", "kind": "Secret"}' | kubectl apply -f -`, true},
		{"kubectl get secret a", false},
		{"kubectl create configmap a", false},
		{"create the secrets of the shop", false},
		{"kind: SecretStore", false},
	} {
		if got := Creates(c.script, "Secret"); got != c.want {
			t.Errorf("Creates(%q) = %t, want %t", c.script, got, c.want)
		}
	}
}
