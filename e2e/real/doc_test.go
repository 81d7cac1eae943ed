// Package real_test deploys real charts, whose programs really run, on a real node with
// a real Argo CD: in Ladder's order, without waves, and in the waves of an expert if
// there are any. docs/e2e.md describes it.
package real_test
