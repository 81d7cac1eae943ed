package node

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// cgroups are the node's cgroups, one in each hierarchy, below those of this process.
type cgroups struct {
	dirs        []string
	controllers []string // of cgroup v1, and "systemd" where there is such a hierarchy
}

const cgroupRoot = "/sys/fs/cgroup"

// cgroupPrefix begins the name of every node's cgroups.
const cgroupPrefix = "ladder-node-"

// started counts the nodes of this process.
var started atomic.Int64

// newCgroups makes a cgroup in each hierarchy of cgroup v1. What nodes of processes
// that were killed left is removed.
func newCgroups() (*cgroups, error) {
	name := fmt.Sprintf("%s%d-%d", cgroupPrefix, os.Getpid(), started.Add(1))
	// Read whole before the first change: the file tells where the reader is now.
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	c := &cgroups{}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("/proc/self/cgroup: unexpected line %q", lines.Text())
		}
		if err := c.add(parts[1], parts[2], name); err != nil {
			return nil, errors.Join(fmt.Errorf("making the node's cgroups: %w", err), c.remove())
		}
	}
	if len(c.controllers) < 2 {
		return nil, errors.Join(errors.New("the machine has cgroup v2 only, which the node does not support yet; it needs the hierarchies of v1"),
			c.remove())
	}
	return c, nil
}

func (c *cgroups) add(hierarchy, path, name string) error {
	mount := hierarchy
	switch hierarchy {
	case "":
		mount = "unified"
	case "name=systemd":
		mount = "systemd"
	}
	root := filepath.Join(cgroupRoot, mount)
	if _, err := os.Stat(root); err != nil {
		return nil // a machine with v2 only has its root elsewhere
	}
	if err := removeAbandoned(filepath.Join(root, path)); err != nil {
		return err
	}
	dir := filepath.Join(root, path, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	c.dirs = append(c.dirs, dir)
	if mount != "unified" {
		c.controllers = append(c.controllers, strings.Split(mount, ",")...)
	}
	if hierarchy == "cpuset" {
		return inheritCPUs(root, dir)
	}
	return nil
}

// removeAbandoned removes the cgroups of nodes whose process has ended.
func removeAbandoned(parent string) error {
	dirs, err := filepath.Glob(filepath.Join(parent, cgroupPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), cgroupPrefix), "-")
		if _, err := os.Stat("/proc/" + pid); err == nil {
			continue
		}
		if err := removeCgroup(dir); err != nil {
			return err
		}
	}
	return nil
}

// inheritCPUs gives a cgroup all processors, without which nothing may join it.
func inheritCPUs(root, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "cgroup.clone_children"), []byte("1"), 0); err != nil {
		return err
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the node's cgroups. Its processes must have ended; the kernel takes a
// moment to see that.
func (c *cgroups) remove() error {
	var faults []error
	for _, dir := range c.dirs {
		var err error
		for range 50 {
			if err = removeCgroup(dir); err == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// removeCgroup removes a cgroup with all below it.
func removeCgroup(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for i := len(dirs) - 1; i >= 0 && err == nil; i-- {
		err = os.Remove(dirs[i])
	}
	return err
}
