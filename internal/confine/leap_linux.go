//go:build !race

package confine

import "syscall"

// limitLeap sets a hard limit far above the worker's memory limit. The server
// checks every few milliseconds, and in that time a single call such as {{ repeat
// 4000000000 "x" }} could use all memory of the container. The program itself needs
// some hundred megabytes of address space, most of it unused.
func limitLeap(limit int64) {
	most := uint64(2*limit + 256<<20)
	// If it fails, the server's check still works.
	syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
}
