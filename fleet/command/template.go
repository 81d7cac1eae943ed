package command

import (
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// ownTemplate reads the file of --template; it returns nil if the flag is not set.
func ownTemplate(file, kind string) (*generate.OwnTemplate, error) {
	if file == "" {
		return nil, nil
	}
	text, err := wholefile.Read(file, "correct --template")
	if err != nil {
		return nil, err
	}
	return generate.NewOwnTemplate(file, kind, text)
}
