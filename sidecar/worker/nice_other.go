//go:build !linux

package worker

func yieldProcessors(int) {}
