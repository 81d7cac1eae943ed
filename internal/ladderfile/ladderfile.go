// Package ladderfile reads the ladder.yaml that holds for every component.
package ladderfile

import (
	"fmt"
	"os"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// Variable names the variable that sets the default of --ladder, for those who
// run Argo CD's own plugin server, which gives no flags.
const Variable = "LADDER_CONFIG"

// Base is what the program knows about kinds, with what the file says
// besides, if one is named.
func Base(file string) (*knowledge.Base, error) {
	named, err := Read(file)
	if err != nil {
		return nil, err
	}
	return With(named)
}

// Read returns a file behind a line with its name, or nothing if none is
// named.
func Read(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("%s: no such file; correct --ladder or %s", file, Variable)
	}
	if err != nil {
		return nil, plugin.Unreadable(file, err)
	}
	return append([]byte(file+"\n"), text...), nil
}

// With is what the program knows, with what readLadder returned.
func With(named []byte) (*knowledge.Base, error) {
	name, text, any := strings.Cut(string(named), "\n")
	if !any {
		return knowledge.Default(), nil
	}
	return knowledge.Default().With(name, text)
}
