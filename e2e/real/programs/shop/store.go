package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errMissing says that nothing is stored under a name.
var errMissing = errors.New("not found")

// store is a table of texts by collection and name.
type store struct{ pool *pgxpool.Pool }

// openStore reads where the database is; it does not connect yet. An empty URL leaves
// that to the variables of libpq.
func openStore(ctx context.Context, url string) (store, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return store{}, fmt.Errorf("reading DATABASE_URL: %w", err)
	}
	return store{pool}, nil
}

func (s store) migrate(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `create table if not exists items (
		collection text, name text, content text not null, primary key (collection, name))`)
	return explain(err, "migrating")
}

// check fails without the schema.
func (s store) check(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `select 1 from items limit 1`)
	return explain(err, "checking the schema")
}

func (s store) Put(ctx context.Context, collection, name, content string) error {
	_, err := s.pool.Exec(ctx, `insert into items values ($1, $2, $3)
		on conflict (collection, name) do update set content = excluded.content`, collection, name, content)
	return explain(err, "storing")
}

func (s store) Get(ctx context.Context, collection, name string) (string, error) {
	var content string
	err := s.pool.QueryRow(ctx, `select content from items where collection = $1 and name = $2`, collection, name).Scan(&content)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", errMissing
	}
	return content, explain(err, "reading")
}

// Ready fails if the database does not answer.
func (s store) Ready(ctx context.Context) error {
	return explain(s.pool.Ping(ctx), "asking the database")
}

func explain(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
