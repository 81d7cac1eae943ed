package wave_test

import "fmt"

// serviceNames are names of services. They are also names of applications, of database
// users, of images and of buckets, as in real components.
var serviceNames = []string{
	"api", "web", "shop", "orders", "billing", "auth", "users", "frontend", "backend", "gateway", "worker", "search", "catalog",
	"payments", "inventory", "notifications", "reports", "admin", "app", "cms", "identity", "accounts", "pricing", "mailer", "files",
	"media", "chat", "dashboard", "graphql", "ledger", "postgres-proxy", "portal", "tickets", "wiki", "root", "data-service", "ingest",
}

// engine is a kind of store.
type engine struct {
	word     string // what variables call it
	port     int
	schemes  []string
	database bool // it has schemas that are migrated
	images   []string
	names    []string
	wait     string
	password string                                 // variable with the password of the server
	resource func(g *generator, s *store, n string) // makes it as an operator's custom resource
}

var engines = []engine{
	{word: "DATABASE", port: 5432, schemes: []string{"postgres", "postgresql", "jdbc:postgresql", "postgresql+asyncpg"}, database: true,
		images: []string{"postgres:17", "docker.io/bitnami/postgresql:16.3.0", "timescale/timescaledb:2.15-pg16",
			"registry.corp/base/pg:15"},
		names:    []string{"postgres", "postgresql", "db", "pg", "%s-db", "%s-postgres", "primary", "database", "data"},
		wait:     "pg_isready -h",
		password: "POSTGRES_PASSWORD", resource: addPostgresCluster},
	{word: "PG", port: 5432, schemes: []string{"postgres", "postgresql"}, database: true,
		images: []string{"postgres:16-alpine", "postgis/postgis:16-3.4"}, names: []string{"postgres", "pg-main", "%s-pg", "store"},
		wait: "pg_isready -h", password: "POSTGRES_PASSWORD", resource: addPostgresCluster},
	{word: "MYSQL", port: 3306, schemes: []string{"mysql", "jdbc:mysql", "mysql+pymysql"}, database: true,
		images: []string{"mysql:8.4", "mariadb:11", "docker.io/bitnami/mariadb:11.4"},
		names:  []string{"mysql", "mariadb", "%s-mysql", "sql", "db"},
		wait:   "mysqladmin ping -h", password: "MYSQL_ROOT_PASSWORD"},
	{word: "MONGO", port: 27017, schemes: []string{"mongodb"}, database: true, images: []string{"mongo:7", "docker.io/bitnami/mongodb:7.0"},
		names: []string{"mongo", "mongodb", "%s-mongo", "documents"}, password: "MONGO_INITDB_ROOT_PASSWORD"},
	{word: "REDIS", port: 6379, schemes: []string{"redis"}, images: []string{"redis:7", "valkey/valkey:8", "docker.io/bitnami/redis:7.2"},
		names: []string{"redis", "cache", "%s-redis", "valkey", "sessions"}, wait: "redis-cli ping -h"},
	{word: "RABBITMQ", port: 5672, schemes: []string{"amqp"}, images: []string{"rabbitmq:3.13-management"},
		names: []string{"rabbitmq", "mq", "broker", "events", "queue"}, resource: addRabbitCluster},
	{word: "S3_ENDPOINT", port: 9000, schemes: []string{"http"}, images: []string{"minio/minio:RELEASE.2024-07-04T14-25-45Z"},
		names: []string{"minio", "s3", "storage", "objects", "%s-minio"}, wait: "curl -sf", password: "MINIO_ROOT_PASSWORD"},
	{word: "KAFKA_BROKERS", port: 9092, images: []string{"apache/kafka:3.8.0", "docker.io/bitnami/kafka:3.7"},
		names: []string{"kafka", "streams", "event-bus", "%s-kafka"}, resource: addKafkaCluster},
	{word: "ELASTICSEARCH", port: 9200, schemes: []string{"http"},
		images: []string{"elasticsearch:8.14.1", "opensearchproject/opensearch:2"},
		names:  []string{"elasticsearch", "es", "es-master", "%s-search", "opensearch"}},
}

func addPostgresCluster(g *generator, s *store, name string) {
	backup := ""
	if g.chance(20) {
		backup = "  backup: {barmanObjectStore: {destinationPath: 's3://backups/pg', s3Credentials: " +
			"{accessKeyId: {name: backup-creds, key: id}, secretAccessKey: {name: backup-creds, key: secret}}}}\n"
	}
	g.add(fmt.Sprintf("apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: %s}\nspec:\n  instances: 2\n"+
		"  storage: {size: 10Gi}\n%s", name, backup))
	s.endpoint.object, s.endpoint.host = "Cluster/"+name, name+"-rw"
	s.endpoint.secret, s.endpoint.key = name+"-app", "uri"
}

func addRabbitCluster(g *generator, s *store, name string) {
	g.add(fmt.Sprintf("apiVersion: rabbitmq.com/v1beta1\nkind: RabbitmqCluster\nmetadata: {name: %s}\nspec: {replicas: 3}\n", name))
	s.endpoint.object = "RabbitmqCluster/" + name
	s.endpoint.secret, s.endpoint.key = name+"-default-user", "connection_string"
}

func addKafkaCluster(g *generator, s *store, name string) {
	g.add(fmt.Sprintf("apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: %s}\n"+
		"spec: {kafka: {version: 3.8.0, listeners: [{name: plain, port: 9092, type: internal, tls: false}]}}\n", name))
	s.endpoint.object, s.endpoint.host = "Kafka/"+name, name+"-kafka-bootstrap"
}

var seedCommands = [][]string{{"rails", "db:seed"}, {"python", "manage.py", "loaddata", "demo"}, {"npm", "run", "seed"}, {"./load"}}

// tool is how a migration is started.
type tool struct {
	image         string // empty: the application's
	command, args []string
	isWord        bool // the command or image tells that it is a migration
}

var migrationTools = []tool{
	{command: []string{"bundle", "exec", "rails", "db:migrate"}, isWord: true},
	{command: []string{"bin/rails", "db:prepare"}, isWord: true},
	{command: []string{"python", "manage.py", "migrate", "--noinput"}, isWord: true},
	{command: []string{"alembic", "upgrade", "head"}, isWord: true},
	{command: []string{"flask", "db", "upgrade"}, isWord: true},
	{command: []string{"npm", "run", "db:migrate"}, isWord: true},
	{command: []string{"yarn", "typeorm", "migration:run"}, isWord: true},
	{command: []string{"npx", "prisma", "migrate", "deploy"}, isWord: true},
	{command: []string{"php", "artisan", "migrate", "--force"}, isWord: true},
	{command: []string{"dotnet", "ef", "database", "update"}, isWord: true},
	{command: []string{"sh", "-c", "python manage.py migrate && python manage.py collectstatic --noinput"}, isWord: true},
	{command: []string{"sh", "-c", "set -e; alembic upgrade head; echo done"}, isWord: true},
	{args: []string{"migrate"}, isWord: true},
	{args: []string{"migrate", "up"}, isWord: true},
	{command: []string{"/app/bin/release"}},
	{args: []string{"prepare"}},
	{image: "flyway/flyway:10", args: []string{"-connectRetries=60", "migrate"}, isWord: true},
	{image: "liquibase/liquibase:4.29", args: []string{"update"}, isWord: true},
	{image: "migrate/migrate:v4.17.1", args: []string{"-path=/migrations", "up"}, isWord: true},
	{image: "ghcr.io/acme/%s-migrations:1.4.0", isWord: true},
	{image: "ghcr.io/acme/%s-setup:1.4.0"},
}

// migrationNames are names of migration Jobs; those that tell it, and those that do not.
var (
	migrationNames = []string{"%s-migrate", "db-migrate", "%s-migrations", "%s-db-migration", "migrate", "schema-migration", "migrate-%s"}
	vagueNames     = []string{"%s-release", "release-task", "%s-init", "prepare", "%s-upgrade", "before-%s"}
	seedNames      = []string{"%s-seed", "seed", "load-fixtures", "%s-import", "demo-data", "initial-data"}
	bootstrapNames = []string{"%s-bootstrap", "bootstrap", "setup", "register-%s", "%s-provision", "create-admin", "realm-import"}
	smokeNames     = []string{"%s-smoke", "smoke-test", "e2e", "%s-healthcheck", "acceptance"}
	bucketNames    = []string{"create-buckets", "%s-topics", "make-bucket", "%s-queues", "storage-init"}
	keyNames       = []string{"create-keys", "%s-secrets", "generate-credentials", "jwt-keys"}
	guardNames     = []string{"preflight", "%s-preflight-check", "pre-migrate-backup", "backup-before-release"}
)
