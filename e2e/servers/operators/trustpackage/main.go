// Command trustpackage copies a folder of CA certificates to a volume: the init
// container of trust-manager.
//
//	copyandmaybepause FROM TO
package main

import (
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: copyandmaybepause FROM TO")
	}
	if err := copyFiles(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func copyFiles(from, to string) error {
	return fs.WalkDir(os.DirFS(from), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(name)), text, 0o644); err != nil {
			return fmt.Errorf("copying %s: %w", name, err)
		}
		return nil
	})
}
