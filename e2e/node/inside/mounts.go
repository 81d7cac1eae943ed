package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ladder-cmp/ladder/e2e/node/inside/protocol"
)

// mount is one call of mount(2).
type mount struct {
	source, target, fstype string
	flags                  uintptr
	data                   string
}

// mounts makes the mount namespace that of a node. Nothing of it reaches the machine.
func mounts(spec protocol.Spec) error {
	if err := syscall.Sethostname([]byte(spec.Hostname)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	// What is mounted below stays here; what the kubelet mounts for a Pod reaches the Pod.
	if err := do(mount{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE, ""}, mount{"", "/", "", syscall.MS_REC | syscall.MS_SHARED, ""},
		mount{"proc", "/proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC, ""}); err != nil {
		return err
	}
	if err := cgroups(spec.Controllers); err != nil {
		return err
	}
	if err := do(mount{"tmpfs", "/run", "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV, "mode=755"}); err != nil {
		return err
	}
	for _, dir := range []string{"/run/containerd", "/run/lock", "/run/netns"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for target, source := range spec.Binds {
		if err := bind(source, target); err != nil {
			return err
		}
	}
	return nil
}

// cgroups remounts the hierarchies, so that their roots are the node's cgroups.
// The unified hierarchy stays out, since programs that see it take the machine for one
// with cgroup v2.
func cgroups(controllers []string) error {
	if err := syscall.Unmount("/sys/fs/cgroup", syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the machine's cgroups: %w", err)
	}
	if err := do(mount{"sysfs", "/sys", "sysfs", 0, ""}, mount{"cgroup", "/sys/fs/cgroup", "tmpfs", 0, "mode=755"}); err != nil {
		return err
	}
	for _, controller := range controllers {
		dir := filepath.Join("/sys/fs/cgroup", controller)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		data := controller
		if controller == "systemd" {
			data = "none,name=systemd"
		}
		if err := do(mount{"cgroup", dir, "cgroup", 0, data}); err != nil {
			return err
		}
	}
	return nil
}

func bind(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
	}
	return do(mount{source, target, "", syscall.MS_BIND | syscall.MS_REC, ""})
}

func do(mounts ...mount) error {
	for _, m := range mounts {
		if err := syscall.Mount(m.source, m.target, m.fstype, m.flags, m.data); err != nil {
			return fmt.Errorf("mounting %s: %w", m.target, err)
		}
	}
	return nil
}
