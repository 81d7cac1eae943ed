//go:build !linux

package sandbox

import "runtime"

// Enter does nothing: Landlock and seccomp are only available on Linux.
func Enter() []Gap {
	return []Gap{{Seccomp, "not available on " + runtime.GOOS}, {Landlock, "not available on " + runtime.GOOS}}
}

// Seclude does nothing.
func Seclude() error { return nil }

// EnterFetcher does nothing.
func EnterFetcher(...string) []Gap {
	return []Gap{{Landlock, "not available on " + runtime.GOOS}}
}
