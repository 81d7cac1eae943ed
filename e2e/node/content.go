package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// lockContent keeps other nodes from the directory for images.
func (n *Node) lockContent(context.Context) error {
	if n.opts.Content == "" {
		return nil
	}
	dir, err := filepath.Abs(n.opts.Content)
	if err != nil {
		return err
	}
	n.opts.Content = dir
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("locking %s: %w", dir, err)
	}
	if !locked {
		return fmt.Errorf("another node has its images in %s; fix: give each a directory of its own", dir)
	}
	n.lock = lock
	return nil
}
