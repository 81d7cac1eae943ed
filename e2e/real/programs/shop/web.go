package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// shelf is what the server keeps things on.
type shelf interface {
	Put(ctx context.Context, collection, name, content string) error
	Get(ctx context.Context, collection, name string) (string, error)
	Ready(ctx context.Context) error
}

func handler(s shelf) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("PUT /{collection}/{name}", func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err == nil {
			err = s.Put(r.Context(), r.PathValue("collection"), r.PathValue("name"), string(content))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /{collection}/{name}", func(w http.ResponseWriter, r *http.Request) {
		content, err := s.Get(r.Context(), r.PathValue("collection"), r.PathValue("name"))
		switch {
		case errors.Is(err, errMissing):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			io.WriteString(w, content)
		}
	})
	return mux
}

// put stores something at a URL of the server, and fails unless it can be read back.
func put(ctx context.Context, client *http.Client, url string) error {
	const content = "put by a Job"
	if _, err := send(ctx, client, http.MethodPut, url, content); err != nil {
		return err
	}
	got, err := send(ctx, client, http.MethodGet, url, "")
	if err != nil {
		return err
	}
	if got != content {
		return fmt.Errorf("GET %s: want what was put there, got %q", url, got)
	}
	return nil
}

func send(ctx context.Context, client *http.Client, method, url, body string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", method, url, err)
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s %s: %s: %s", method, url, answer.Status, strings.TrimSpace(string(text)))
	}
	return string(text), nil
}
