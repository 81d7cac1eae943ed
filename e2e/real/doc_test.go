// Package real_test deploys real charts, whose programs really run, on a real node by a
// real Argo CD: in Ladder's order, without waves, and in the waves of an expert where
// one is known. docs/reality.md is about it.
package real_test
