//go:build !linux

package confine

func (l Limits) apply() {}
