package confine

import (
	"slices"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
)

// TestArchitectures: each call of the list is one of the architectures that the image
// is built for, but for those that only amd64 has, so that none is misspelt and arm64
// misses none.
func TestArchitectures(t *testing.T) {
	old := []string{"epoll_wait", "poll", "time"} // which arm64 never had
	conditional := []string{"mmap", "mprotect", "clone", "tgkill", "fcntl", "prctl"}
	for _, name := range slices.Concat(alwaysAllowed, unsupported, conditional) {
		if _, ok := arch.X86_64.SyscallNames[name]; !ok {
			t.Errorf("amd64 has no %s", name)
		}
		if _, ok := arch.AARCH64.SyscallNames[name]; ok == slices.Contains(old, name) {
			t.Errorf("arm64 has %s: %t", name, ok)
		}
	}
}
