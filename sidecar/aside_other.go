//go:build !linux

package sidecar

func yieldProcessors(int) {}
