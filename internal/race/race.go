//go:build race

// Package race tells tests whether they run with the race detector.
package race

// MemoryFactor is how much more memory a program takes with the race detector: limits
// of memory in tests are multiplied with it.
const MemoryFactor = 2
