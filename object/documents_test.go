package object_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/object"
)

func TestDocuments(t *testing.T) {
	docs, err := object.Documents("# a comment\n---\na: 1\n---\n---\n- b\n")
	if err != nil || len(docs) != 3 || docs[0].Content[0].Value != "a" || docs[1].Tag != "!!null" || docs[2].Line != 6 {
		t.Errorf("%d documents, %v", len(docs), err)
	}
	if docs, err := object.Documents("a: 1\n---\nb: [\n"); err == nil || docs != nil {
		t.Errorf("%d documents, although the second is not valid", len(docs))
	}
	if docs, err := object.Documents(""); err != nil || docs != nil {
		t.Errorf("%d documents in nothing, %v", len(docs), err)
	}
}
