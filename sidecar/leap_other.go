//go:build !linux

package sidecar

func limitLeap(int64) {}
