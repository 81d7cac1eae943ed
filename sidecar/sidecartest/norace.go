//go:build !race

package sidecartest

// RaceFactor is 1 without the race detector.
const RaceFactor = 1
