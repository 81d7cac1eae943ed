package locate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/checkout"
)

// MaxEntries limits the directory entries to read for each offered directory.
const MaxEntries = 500

// Path is a completion of a typed path.
type Path struct {
	Path string
	// Kind is the kind of component; empty if it is not one.
	Kind string
	// HasComponents means that there is one below it; a slash ends the path.
	HasComponents bool
}

// Paths completes a typed path.
func Paths(typed string, wanted func([]os.DirEntry) string, files bool) []Path {
	parent, begun := filepath.Split(typed)
	entries, err := os.ReadDir(filepath.Clean(parent)) // "" is the working directory
	if err != nil {
		return nil
	}
	var all []Path
	if kind := wanted(entries); kind != "" && typed == "" {
		all = append(all, Path{Path: ".", Kind: kind})
	}
	for _, e := range entries {
		name := parent + e.Name()
		switch {
		case !strings.HasPrefix(e.Name(), begun) || strings.HasPrefix(e.Name(), ".") && begun == "":
		case strings.ContainsAny(e.Name(), "\t\n"): // shells split at these
		case checkout.IsDir(name):
			below, _ := os.ReadDir(name)
			if kind := wanted(below); kind != "" {
				all = append(all, Path{Path: name, Kind: kind})
			} else if budget := MaxEntries; leads(name, wanted, &budget) {
				all = append(all, Path{Path: name + "/", HasComponents: true})
			}
		case files && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			all = append(all, Path{Path: name})
		}
	}
	return all
}

// leads reports whether there is something wanted below a directory. If the budget
// is exhausted, there may be.
func leads(dir string, wanted func([]os.DirEntry) string, budget *int) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	if *budget -= len(entries); wanted(entries) != "" || *budget < 0 {
		return true
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.IsDir() && !strings.HasPrefix(e.Name(), ".") && leads(filepath.Join(dir, e.Name()), wanted, budget)
	})
}
