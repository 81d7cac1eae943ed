//go:build race

// Package race tells tests whether they run with the race detector.
package race

// MemoryFactor is how much more memory a program needs with the race detector.
// Tests multiply memory limits by it.
const MemoryFactor = 2
