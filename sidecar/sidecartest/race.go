//go:build race

package sidecartest

// RaceFactor is how much more memory a program takes with the race detector: limits of
// memory in tests are multiplied with it.
const RaceFactor = 2
