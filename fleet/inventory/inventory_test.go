package inventory_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/inventory"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestInventory lists each fleet.
func TestInventory(t *testing.T) {
	for _, name := range fleettest.Names(t) {
		t.Run(name, func(t *testing.T) {
			golden.File(t, fleettest.Dir(t, name)+"/want.inventory.md", inventory.New(fleettest.Load(t, name), "").Markdown())
		})
	}
}

// TestInventoryForPrograms makes sure that every component is in every format.
func TestInventoryForPrograms(t *testing.T) {
	f := fleettest.Load(t, "faults")
	inv := inventory.New(f, "preview")
	text, err := inv.Render("json")
	if err != nil {
		t.Fatal(err)
	}
	var read inventory.Inventory
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	table, err := inv.CSV()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Components) != len(f.Applications) || len(rows) != len(f.Applications)+1 {
		t.Fatalf("%d components as JSON, %d rows as CSV, want %d and one more", len(read.Components), len(rows), len(f.Applications))
	}
	members := 0
	for _, s := range read.Steps {
		members += len(s.Components)
	}
	if members != len(f.Applications) {
		t.Errorf("%d are in steps, want %d", members, len(f.Applications))
	}
	for i, e := range read.Components {
		if row := rows[i+1]; row[0] != e.RolloutPhase || row[1] != e.Name || row[2] != e.Path {
			t.Errorf("as JSON %s %s, as CSV %v", e.RolloutPhase, e.Name, row[:3])
		}
		deployed := e.Name != "off" && e.Name != "only-main" && e.Path != "by-place-main/component.yaml"
		if e.Deployed != deployed {
			t.Errorf("%s: deployed in preview is %v", e.Path, e.Deployed)
		}
	}
}

// TestInventoryEscapes makes sure that what people write stays text.
func TestInventoryEscapes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/component.yaml": "name: \"<script>alert(1)</script>|`x`\\n# head\"\ncomponentType: \"<b>|*_\"\nrolloutPhase: 10\n",
		"a/a.yaml":         "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := fleet.Load(t.Context(), fleet.Source{Repo: os.DirFS(dir), Dirs: []string{"."}}, knowledge.Default())
	if err != nil {
		t.Fatal(err)
	}
	page, err := inventory.New(f, "").HTML()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page, "<script>") || strings.Contains(page, "<b>") {
		t.Error("the page holds what a component.yaml says as tags")
	}
	text := inventory.New(f, "").Markdown()
	if strings.Contains(text, "<script>") || strings.Contains(text, "\n# head") || strings.Contains(text, "<b>|") {
		t.Errorf("the table holds more than text:\n%s", text)
	}
}

// TestAtOnce: a place without maxUpdate updates all, one that is manual none.
func TestAtOnce(t *testing.T) {
	for want, row := range map[string]inventory.Row{"all": {}, "3": {MaxUpdate: 3}, "none": {Manual: true}} {
		if got := row.AtOnce(); got != want {
			t.Errorf("%+v: %s at once, want %s", row, got, want)
		}
	}
}
