package inplace

import "testing"

// TestSiblings finds the branches whose order decides about two Applications.
func TestSiblings(t *testing.T) {
	tree := Tree{Nodes: []Node{{Parent: None}, {Parent: 0}, {Parent: 0}, {Parent: 2}, {Parent: 2}, {Parent: None}}}
	for _, c := range []struct{ x, y, ofX, ofY int }{
		{3, 4, 3, 4}, {1, 4, 1, 2}, {5, 4, 5, 0}, {0, 4, 0, 0}, {2, 2, 2, 2},
	} {
		if ofX, ofY := tree.Siblings(c.x, c.y); ofX != c.ofX || ofY != c.ofY {
			t.Errorf("Siblings(%d, %d) = %d, %d; want %d, %d", c.x, c.y, ofX, ofY, c.ofX, c.ofY)
		}
	}
}
