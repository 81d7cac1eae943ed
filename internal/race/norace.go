//go:build !race

// Package race tells tests whether they run with the race detector.
package race

// MemoryFactor is 1 without the race detector.
const MemoryFactor = 1
