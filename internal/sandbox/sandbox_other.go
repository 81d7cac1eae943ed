//go:build !linux

package sandbox

import "runtime"

// Enter has nothing to take away with: Landlock and seccomp are Linux's.
func Enter() []Gap {
	return []Gap{{Seccomp, "not available on " + runtime.GOOS}, {Landlock, "not available on " + runtime.GOOS}}
}

// Seclude does nothing here.
func Seclude() error { return nil }

// EnterFetching has nothing to take away with.
func EnterFetching(...string) []Gap {
	return []Gap{{Landlock, "not available on " + runtime.GOOS}}
}
