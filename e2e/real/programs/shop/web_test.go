package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// memory is a shelf without a database.
type memory struct {
	items map[string]string
	fault error
}

func (m memory) Put(_ context.Context, collection, name, content string) error {
	m.items[collection+"/"+name] = content
	return m.fault
}

func (m memory) Get(_ context.Context, collection, name string) (string, error) {
	content, ok := m.items[collection+"/"+name]
	if !ok {
		return "", errMissing
	}
	return content, nil
}

func (m memory) Ready(context.Context) error { return m.fault }

func TestPutReadsBack(t *testing.T) {
	shelf := memory{items: map[string]string{}}
	server := httptest.NewServer(handler(shelf))
	defer server.Close()
	if err := put(t.Context(), server.Client(), server.URL+"/orders/socks"); err != nil {
		t.Fatal(err)
	}
	if shelf.items["orders/socks"] == "" {
		t.Errorf("nothing was stored: %v", shelf.items)
	}
}

func TestPutFailsWhenTheServerDoes(t *testing.T) {
	server := httptest.NewServer(handler(memory{items: map[string]string{}, fault: errors.New("no database")}))
	defer server.Close()
	err := put(t.Context(), server.Client(), server.URL+"/orders/socks")
	if err == nil || !strings.Contains(err.Error(), "no database") {
		t.Errorf("want the server's error, got %v", err)
	}
	answer, err := server.Client().Get(server.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("ready without a database: %s", answer.Status)
	}
}

func TestImpatientProgramsFailAtOnce(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://shop@127.0.0.1:1/shop")
	for _, args := range [][]string{{"migrate"}, {"serve"}, {"put", "http://127.0.0.1:1/orders/socks"}} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%v: want an error, since nothing answers", args)
		}
	}
}

func TestPatienceTriesAgain(t *testing.T) {
	for timeout, want := range map[time.Duration]int{0: 1, 5 * time.Second: 5, time.Minute: 7} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			err := habits{Timeout: timeout}.try(t.Context(), func(context.Context) error {
				if tries++; tries < 7 {
					return errors.New("not yet")
				}
				return nil
			})
			if tries != want || (err == nil) != (want == 7) {
				t.Errorf("patience %s: %d tries, want %d: %v", timeout, tries, want, err)
			}
		})
	}
}

func TestSettingsSayWhereTheDatabaseIs(t *testing.T) {
	t.Setenv("PGHOST", "")
	t.Setenv("PGDATABASE", "")
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("listen: 8080\ndatabase:\n  host: 127.0.0.1\n  name: orders\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := readSettings(file); err != nil || os.Getenv("PGHOST") != "127.0.0.1" || os.Getenv("PGDATABASE") != "orders" {
		t.Errorf("host %q, database %q: %v", os.Getenv("PGHOST"), os.Getenv("PGDATABASE"), err)
	}
	if err := run(t.Context(), []string{"serve", "--settings", file + ".absent"}); err == nil {
		t.Error("want an error, since there are no settings")
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"sell"}, {"put"}, {"migrate", "now"}, {"migrate", "--slow=1s"}} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%v: want an error", args)
		}
	}
}
