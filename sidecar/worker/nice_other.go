//go:build !linux

package worker

func lowerPriority(int) {}
