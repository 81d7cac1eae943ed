//go:build !linux

package confine

import "runtime"

// Sandbox does nothing: Landlock and seccomp are only available on Linux.
func Sandbox() []Gap {
	return []Gap{{Seccomp, "not available on " + runtime.GOOS}, {Landlock, "not available on " + runtime.GOOS}}
}

// Seclude does nothing.
func Seclude() error { return nil }

// SandboxFetcher does nothing.
func SandboxFetcher(...string) []Gap {
	return []Gap{{Landlock, "not available on " + runtime.GOOS}}
}
