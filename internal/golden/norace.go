//go:build !race

package golden

// MemoryFactor is 1 without the race detector.
const MemoryFactor = 1
