package object

import (
	"errors"
	"io"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Documents returns the root of each YAML document in a text. It returns none if one of them
// is not valid.
func Documents(text string) ([]*yaml.Node, error) {
	var all []*yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc yaml.Node
		if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, doc.Content...)
	}
}
