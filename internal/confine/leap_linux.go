//go:build !race

package confine

import "syscall"

// limitLeap makes the system refuse a worker memory far above its limit. The
// server looks every few milliseconds, and in that time a single call such as
// {{ repeat 4000000000 "x" }} could take all that the container has. The
// program itself needs some hundred megabytes of addresses, most of them unused.
func limitLeap(limit int64) {
	most := uint64(2*limit + 256<<20)
	// Where it does not work, the server still looks.
	syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
}
