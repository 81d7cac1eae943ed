//go:build race

package golden

// MemoryFactor is how much more memory a program needs with the race detector.
// Tests multiply memory limits by it.
const MemoryFactor = 2
