package text

import (
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
)

// migrations are commands that bring a schema up to date.
var migrations = []string{
	"rails db:migrate", "bundle exec rails db:migrate", "bin/rails db:prepare", "rake db:migrate", "bundle exec rake db:schema:load",
	"rails db:setup", "rake db:create db:migrate", "rails db:migrate:primary", "rake db:structure:load",
	"gitlab-rake gitlab:db:configure", "bundle exec sequel -m migrations $DB", "npm run db:migrate", "npm run migrate",
	"npm run migration:run", "yarn migration:run", "yarn db:migrate:prod", "pnpm db:migrate", "pnpm run migrate:deploy",
	"npx sequelize-cli db:migrate", "npx sequelize db:migrate --env production", "npx knex migrate:latest",
	"node_modules/.bin/knex migrate:latest", "npx typeorm migration:run -d dist/data-source.js",
	"yarn typeorm-ts-node-commonjs migration:run", "npx prisma migrate deploy", "npx prisma db push", "npx drizzle-kit migrate",
	"npx drizzle-kit push", "npx mikro-orm migration:up", "npx node-pg-migrate up", "npx db-migrate up", "npx migrate-mongo up",
	"npx medusa db:migrate", "npx directus database migrate:latest", "directus bootstrap", "node ace migration:run --force",
	"npx payload migrate", "npx umzug up", "knex-migrator migrate --mgpath .", "node dist/migrate.js", "node dist/migrations/run.js",
	"nx run api:migrate", "make migrate", "deno task migrate", "python manage.py migrate --noinput", "python3 ./manage.py migrate",
	"django-admin migrate", "alembic upgrade head", "alembic -c /app/alembic.ini upgrade head", "python -m alembic upgrade head",
	"poetry run alembic upgrade head", "uv run flask db upgrade", "flask --app shop db upgrade", "superset db upgrade",
	"airflow db migrate", "mlflow db upgrade", "aerich upgrade", "python migrate.py", "python -m app.migrate",
	"piccolo migrations forwards all", "nova-manage api_db sync", "glance-manage db_sync", "ironic-dbsync upgrade",
	"neutron-db-manage upgrade heads", "awx-manage migrate", "sentry upgrade --noinput", "snuba migrations migrate --force",
	"prefect server database upgrade -y", "php artisan migrate --force", "php bin/console doctrine:migrations:migrate -n",
	"php bin/console doctrine:schema:update --force", "bin/cake migrations migrate", "vendor/bin/phinx migrate", "drush updatedb -y",
	"drush updb -y", "php occ upgrade", "bin/magento setup:upgrade", "wp core update-db", "php yii migrate --interactive=0",
	"php spark migrate", "craft migrate/all", "php maintenance/update.php --quick", "php admin/cli/upgrade.php --non-interactive",
	"dotnet ef database update", "./efbundle --connection $C", "dotnet Shop.Migrator.dll", "dotnet Shop.dll --migrate",
	"dotnet DbUp.dll", "mvn flyway:migrate", "./gradlew flywayMigrate", "mvn liquibase:update", "./gradlew liquibaseUpdate",
	"liquibase --url jdbc:postgresql://db/shop update", "java -jar app.jar db migrate config.yml",
	"java -cp app.jar com.acme.MigrationRunner", "sbt flywayMigrate", "lein migratus migrate", "mix ecto.migrate",
	`bin/shop eval "Shop.Release.migrate"`, "bin/migrate", "/app/server migrate", "migrate -path /m -database $DB up",
	"goose -dir /m postgres $DSN up", "dbmate up", "atlas migrate apply --url $DB", "atlas schema apply --url $DB", "sqitch deploy",
	"tern migrate", "sql-migrate up", "soda migrate up", "diesel migration run", "sqlx migrate run", "sea-orm-cli migrate up",
	"hydra migrate sql -e --yes", "spicedb datastore migrate head", "openfga migrate", "kong migrations up", "hasura migrate apply",
	"temporal-sql-tool --ep postgres setup-schema -v 0.0", "temporal-sql-tool update-schema -d ./schema", "zitadel setup",
	"boundary database init", "odoo -u all --stop-after-init", "odoo-bin -i base --stop-after-init", "gitea migrate",
	"river migrate-up", "supabase db push", "set -e; alembic upgrade head; echo done", "cd /app && rails db:migrate",
	"if ! ready; then exit 1; fi; rails db:migrate", "RAILS_ENV=production rails db:migrate",
	"until pg_isready -h db; do sleep 1; done; npm run migrate", "wait-for-it db:5432 -- alembic upgrade head",
	"dockerize -wait tcp://db:5432 rails db:migrate", "sh /scripts/migrate.sh", "/app/docker/run_migrations.sh",
	"./run-migrations.sh", "exec ./manage.py \\\n  migrate", "worker migrate",
	"java -jar app.jar --spring.profiles.active=prod,migrate", "java -Dspring.profiles.active=migrate -jar app.jar",
	"./shop --mode=migrate", "./shop -role=db-migrate", "# first\nrails db:migrate",
}

// others are commands that are none, although most contain such a word.
var others = []string{
	"kubectl delete job shop-migrate", "kubectl delete job migrate", "kubectl wait --for=condition=complete job/migrate",
	"kubectl exec deploy/api -- rails db:migrate", "helm upgrade db ./chart", "echo migrate", "curl -f http://api/migrate",
	"celery -A shop worker -Q migrations", "sidekiq -q migrations", "./migrate-to-s3 --help", "rails db:migrate:status",
	"rake db:abort_if_pending_migrations", "alembic current", "alembic history", "alembic check", "flyway validate", "goose status",
	"prisma generate", "prisma studio", "npx prisma migrate status", "python manage.py migrate --check",
	"python manage.py showmigrations", "python manage.py makemigrations --check --dry-run", "rails db:seed", "npm run seed",
	"npm run build", "npm run test", "python manage.py loaddata demo", "python report.py --schema migrations",
	"pg_dump --schema-only shop", "psql -f /sql/schema.sql", "psql -c 'select * from schema_migrations'",
	"aws s3 cp s3://b/migrations .", "rm -rf /app/migrations", "ls db/migrate", "cat /migrations/README",
	"./worker --queue=migrations", "./worker --queue migrations", "./shop --mode=serve", "./shop --exclude=migrate",
	"./worker --queue-mode=serve --topic=migrate", "mc mb s3/migrations", "./serve --no-migrate", "./shop --skip-migrations serve",
	"dbt run", "airflow scheduler", "superset init", "wait_for.sh job shop-migrate", "wait_for.sh job migrate",
	"node dist/migrate.js --help", "sleep 10", "# rails db:migrate\nrails db:seed", "git clone https://example.com/migrations",
	"python manage.py collectstatic", "backup --file /backups/migrations.tar", "php artisan queue:work", "npm install db-migrate",
	"helm test migrate", "chown -R app /migrations", "bin/report --name x",
}

// TestMigrations holds which commands migrate a schema.
func TestMigrations(t *testing.T) {
	base := knowledge.Default()
	for _, command := range migrations {
		for _, script := range []string{command, "sh -c " + command} {
			if base.MigratesBy(Commands(base, script)) == "" {
				t.Errorf("%s is a migration; its words: %q", script, Commands(base, script))
			}
		}
	}
	for _, command := range others {
		if words := base.MigratesBy(Commands(base, command)); words != "" {
			t.Errorf("%s is no migration; %q in %q", command, words, Commands(base, command))
		}
	}
}

func TestWithoutData(t *testing.T) {
	for script, want := range map[string]string{
		`curl -d '{"a": {"scale_factor": 1}}' http://db/config; drop it`: `curl -d '' http://db/config; drop it`,
		`curl -d "{\"create\": 1}" x`:                                    `curl -d "" x`,
		`create() { restore "$1"; }; create`:                             `create() { restore "$1"; }; create`,
		`echo ${NAME} {"open": `:                                         `echo ${NAME} {"open": `,
	} {
		if got := WithoutData(script); got != want {
			t.Errorf("%s: got %s, want %s", script, got, want)
		}
	}
}
