package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// maxTable is the maximum size of a table of names, in bytes.
const maxTable = 64 << 20

// secretNames requests the Secrets as a table, which contains their names but not
// their content.
func secretNames(ctx context.Context, config *rest.Config, namespace string) ([]string, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	// A client for all kinds would increase the size of the program by a quarter.
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	at := server.JoinPath("api/v1/namespaces", namespace, "secrets")
	at.RawQuery = "includeObject=None"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	answer, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusForbidden:
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("it was refused"))
	default:
		return nil, fmt.Errorf("it returned %q when asked for the names of Secrets", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxTable))
	if err != nil {
		return nil, err
	}
	var table struct {
		Kind    string `json:"kind"`
		Columns []struct {
			Name string `json:"name"`
		} `json:"columnDefinitions"`
		Rows []struct {
			Cells []any `json:"cells"`
		} `json:"rows"`
	}
	if err := json.Unmarshal(text, &table); err != nil || table.Kind != "Table" || len(table.Columns) == 0 || !strings.EqualFold(table.Columns[0].Name, "name") {
		return nil, errors.New("it returned no table of Secrets' names")
	}
	names := []string{}
	for _, row := range table.Rows {
		if len(row.Cells) > 0 {
			names = append(names, fmt.Sprint(row.Cells[0]))
		}
	}
	return names, nil
}
